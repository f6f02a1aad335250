// Tensors of images as cuDNN's kernels walk them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/programs/programs.h"

namespace uvmsim {

// A tensor of images, NCHW: image after image, each of `channels` planes of `plane` bytes.
struct Planes {
  VirtualAddress address = 0;
  std::int64_t bytes = 0, channels = 1, plane = 1;
  std::int64_t faulting = 0;  // of the bytes: none where the operand is not managed
  std::int64_t piece = 0;     // of its planes that a CTA takes at once, in bytes; 0: as its program does
  int passes = 1;
  bool read = false, write = false;

  Planes(const Operand& o, const trace::PatternOptions& options)
      : address(o.address),
        bytes(o.bytes),
        channels(options.count),
        plane(options.stride),
        faulting(o.managed() ? o.bytes : 0),
        piece(options.width),
        passes(o.passes),
        read(o.mode != trace::Mode::Write),
        write(o.mode != trace::Mode::Read) {}

  std::int64_t image_bytes() const { return channels * plane; }
  std::int64_t images() const { return ceil_div(bytes, image_bytes()); }
  PageNumber page(std::int64_t byte) const { return page_of(address + static_cast<VirtualAddress>(byte)); }
  bool granted(const PageTable& pages) const { return next_missing(0, bytes, write, pages) == bytes; }

  // The first byte in [from, to) on a page that faults now; `to` when there is none. The last image may be cut short.
  std::int64_t next_missing(std::int64_t from, std::int64_t to, bool store, const PageTable& pages) const {
    const std::int64_t end = std::min(to, faulting), missing = next_missing_byte(address, from, end, store, pages);
    return missing == end ? to : missing;
  }
  // The first image from `image` on of whose pages one faults now; images() when there is none.
  std::int64_t next_missing_image(std::int64_t image, bool store, const PageTable& pages) const {
    const std::int64_t end = images() * image_bytes();
    const std::int64_t missing = next_missing(image * image_bytes(), end, store, pages);
    return missing / image_bytes();
  }
  // The first of channels [channel, channel_end) of an image whose bytes [from, to) are not all there; none:
  // `channel_end`.
  std::int64_t next_missing_piece(std::int64_t image, std::int64_t channel, std::int64_t channel_end, std::int64_t from,
                                  std::int64_t to, bool store, const PageTable& pages) const;
};

// Gathers the touches of a step, each page once: those of an operand come in ascending order.
class PageTouches {
 public:
  explicit PageTouches(std::vector<Touch>& touches) : touches_(touches) {}

  // The pages of bytes [from, to) of `planes`, each by a warp for every line of it, of which there are `warps`.
  void add(const Planes& planes, std::int64_t from, std::int64_t to, std::int64_t warps, bool write);
  // Those of bytes [from, to) of channels [channel, channel_end) of an image, by a warp each.
  void add_pieces(const Planes& planes, std::int64_t image, std::int64_t channel, std::int64_t channel_end,
                  std::int64_t from, std::int64_t to, bool write);

  void add(const Touch& touch);

 private:
  void append(const Touch& touch);

  std::vector<Touch>& touches_;
  PageNumber outer_{};  // behind all pages so far
};

}  // namespace uvmsim
