#include <algorithm>

#include "gpu/programs/planes.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// cuDNN's batch normalisation of NCHW (bn_fw_tr_1C11_kernel_NCHW, bn_bw_1C11_kernel_new): a CTA of 512 threads per
// channel, four on an SM (Kineto's sample profile of ResNet-50 on a V100, 24 of 24 kernels: pytorch/kineto,
// tb_plugin/samples/resnet50_num_workers_0). How many loads of 4 B a thread has in flight is the least that its rates
// need when an answer takes 400 ns: 64 CTAs at 685 GB/s need 2.1 of one operand, so 4; at 562 GB/s 1.7 of two operands,
// so one of each.
constexpr int kChannelThreads = 512, kChannelCtasPerSm = 4;
constexpr std::int64_t kLoadBytes = std::int64_t{kChannelThreads} * 4, kLoadsOfOne = 4;

// One CTA per channel of tensors of images: it walks its plane of one image after the other, once per pass, and writes
// in the last one.
class ChannelsProgram final : public KernelProgram {
 public:
  ChannelsProgram(std::vector<Planes> parts, SweepSet others, std::int64_t channels)
      : parts_(std::move(parts)), others_(std::move(others)) {
    ctas_ = channels;
    threads_ = kChannelThreads;
    ctas_per_sm_ = kChannelCtasPerSm;
    int passes = 1;
    piece_ = std::ranges::count_if(parts_, &Planes::read) > 1 ? kLoadBytes : kLoadBytes * kLoadsOfOne;
    for (const Planes& p : parts_) piece_ = std::max(piece_, p.piece);
    for (const Planes& p : parts_) {
      pieces_ = std::max(pieces_, ceil_div(p.images() * p.plane, piece_));
      if (p.read) passes = std::max(passes, p.passes);
      reads_ |= p.read;
      writes_ |= p.write;
    }
    before_last_ = reads_ ? (passes - 1) * pieces_ : 0;
    max_steps_ = before_last_ + pieces_ * steps_of_piece();
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    const Place place = place_of(step);
    PageTouches pages(touches);
    for (const Planes& part : parts_)
      if (touched(part, place.pass, place.store)) touch(part, cta, place, pages);
    if (step == 0) others_.loads(cta, 0, touches);
    if (step + 1 == max_steps_) others_.stores(cta, 0, touches);
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0) return step;  // also touches what others_ says
    Place place = place_of(step);
    for (; step < before_last_; place = place_of(step)) {
      const std::int64_t piece = next_missing(cta, place.piece, place.pass, false, pages);
      step += piece - place.piece;
      if (piece < pieces_) return step;
    }
    if (step + 1 == max_steps_) return step;
    // In the last pass stores follow the loads of the same piece.
    std::int64_t next = max_steps_;
    const std::int64_t last = (step - before_last_) / steps_of_piece();
    if (reads_) next = step_of(next_missing(cta, last + (place.store ? 1 : 0), place.pass, false, pages), false);
    if (writes_) next = std::min(next, step_of(next_missing(cta, last, place.pass, true, pages), true));
    return std::min(next, max_steps_ - 1);
  }

  bool all_granted(const PageTable& pages) const override {
    return std::ranges::all_of(parts_, [&](const Planes& part) { return part.granted(pages); }) &&
           others_.all_granted(pages);
  }

  // Asked of kernels of few steps, which have few images.
  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    std::int64_t first = others_.empty() ? ctas_ : others_.next_stall(from, ctas_, 0, pages).first;
    for (const Planes& part : parts_) {
      for (std::int64_t image = 0; image < part.images(); ++image) {
        const std::int64_t start = image * part.image_bytes();
        const std::int64_t end = start + std::min(first, part.channels) * part.plane;
        const std::int64_t at = start + from * part.plane;
        if (at >= end) continue;
        const std::int64_t missing = part.next_missing(at, end, part.write, pages);
        if (missing < end) first = (missing - start) / part.plane;
      }
    }
    return {first, std::min(first + 1, ctas_)};
  }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (const Planes& p : parts_) {
      if (p.faulting == 0) continue;
      const LinkRequests requests =
          piece_requests_of(p.address, p.bytes, std::min(p.plane, kLineBytes)) * (p.read ? p.passes : 1);
      add_remote({p.address, p.bytes, requests, requests.requests, p.read, p.write}, pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

 private:
  struct Place {
    int pass = 0;
    std::int64_t piece = 0;
    bool store = false;
  };

  std::int64_t steps_of_piece() const { return reads_ && writes_ ? 2 : 1; }
  int last_pass() const { return static_cast<int>(before_last_ / pieces_); }
  Place place_of(std::int64_t step) const {
    if (step < before_last_) return {static_cast<int>(step / pieces_), step % pieces_, false};
    const std::int64_t after = step - before_last_;
    return {last_pass(), after / steps_of_piece(), writes_ && after % steps_of_piece() + 1 == steps_of_piece()};
  }
  // Of a piece in the last pass.
  std::int64_t step_of(std::int64_t piece, bool store) const {
    return before_last_ + piece * steps_of_piece() + (store && reads_ ? 1 : 0);
  }
  static bool touched(const Planes& part, int pass, bool store) {
    return store ? part.write : part.read && pass < part.passes;
  }

  // A piece is `piece_` bytes of the CTA's planes, one after the other.
  void touch(const Planes& part, std::int64_t channel, const Place& place, PageTouches& pages) const {
    if (channel >= part.channels) return;
    const std::int64_t end = std::min((place.piece + 1) * piece_, part.images() * part.plane);
    for (std::int64_t from = place.piece * piece_; from < end;) {
      const std::int64_t image = from / part.plane, to = std::min((image + 1) * part.plane, end);
      const std::int64_t first = image * part.image_bytes() + channel * part.plane - image * part.plane;
      pages.add(part, first + from, first + to, kChannelThreads / kWarpThreads, place.store);
      from = to;
    }
  }
  // The first piece from `piece` on with a page that is missing; pieces_ when there is none.
  std::int64_t next_missing(std::int64_t channel, std::int64_t piece, int pass, bool store,
                            const PageTable& pages) const {
    std::int64_t next = pieces_;
    for (const Planes& part : parts_)
      if (touched(part, pass, store) && channel < part.channels)
        next = std::min(next, missing_byte(part, channel, piece * piece_, store, pages) / piece_);
    return next;
  }
  // The first byte of a channel's planes, counted without those of the others, from `from` on that is missing.
  std::int64_t missing_byte(const Planes& part, std::int64_t channel, std::int64_t from, bool store,
                            const PageTable& pages) const {
    const std::int64_t all = part.images() * part.plane, none = pieces_ * piece_;
    while (from < all) {
      const std::int64_t image = from / part.plane;
      const std::int64_t first = image * part.image_bytes() + channel * part.plane, begin = first + from % part.plane;
      const std::int64_t missing = part.next_missing(begin, first + part.plane, store, pages);
      if (missing < first + part.plane) return image * part.plane + missing - first;
      const std::int64_t next = part.next_missing_image(image + 1, store, pages);
      if (next >= part.images()) return none;
      from = next * part.plane;
    }
    return none;
  }

  std::vector<Planes> parts_;
  SweepSet others_;
  std::int64_t piece_ = kLoadBytes;            // bytes of an operand that a CTA asks for at once
  std::int64_t pieces_ = 1, before_last_ = 0;  // of a pass; steps before the last pass
  bool reads_ = false, writes_ = false;
};

std::unique_ptr<KernelProgram> make_channels_program(LaunchShape, Operands operands, Options options) {
  std::vector<Planes> parts;
  std::vector<Operand> others;
  std::int64_t channels = 1;
  for (const Operand& o : operands) {
    if (o.pattern != trace::Pattern::Channels || o.options < 0 || o.bytes <= 0) {
      others.push_back(o);
      continue;
    }
    parts.emplace_back(o, options[static_cast<std::size_t>(o.options)]);
    const Planes& part = parts.back();
    channels = std::max(channels, std::min(part.channels, ceil_div(part.bytes, part.plane)));
  }
  return std::make_unique<ChannelsProgram>(std::move(parts), SweepSet(others, channels, kChannelThreads / 32),
                                           channels);
}

const bool kRegistered = add_program_family(
    {.precedence = 24, .takes = has_pattern<trace::Pattern::Channels>, .make = make_channels_program});

}  // namespace
}  // namespace uvmsim
