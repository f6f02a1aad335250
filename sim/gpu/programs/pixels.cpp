#include <algorithm>

#include "gpu/programs/planes.h"
#include "gpu/programs/sweep.h"

namespace uvmsim {
namespace {

// cuDNN's implicit products (volta_scudnn_128x64_relu, its data and weight gradients): CTAs of 128 threads, four on an
// SM, that make 128 pixels of 64 channels and take eight channels of what they read at a time (Kineto's sample profile
// of ResNet-50 on a V100, 23 kernels: pytorch/kineto, tb_plugin/samples/resnet50_num_workers_0). Pixels vary fastest,
// which is assumed.
constexpr int kConvThreads = 128, kConvCtasPerSm = 4;
constexpr std::int64_t kPixels = 128, kChannels = 64, kChannelsPerStep = 8;
constexpr std::int64_t kSummedChannels = 128;  // of the first operand of a weight's gradient

// A convolution, or the gradient of its data: each CTA reads its pixels of all channels of the inputs, eight channels a
// step, then writes 64 channels of the result. An input with other extents is read at the same share of its planes.
class PixelsProgram final : public KernelProgram {
 public:
  PixelsProgram(std::vector<Planes> inputs, const Planes& result, std::int64_t element_bytes, SweepSet others)
      : inputs_(std::move(inputs)),
        result_(result),
        tile_(kPixels * element_bytes),
        tiles_(tiles_of(result, element_bytes)),
        others_(std::move(others)) {
    ctas_ = ctas_of(result, element_bytes);
    threads_ = kConvThreads;
    ctas_per_sm_ = kConvCtasPerSm;
    for (const Planes& input : inputs_) loads_ = std::max(loads_, ceil_div(input.channels, kChannelsPerStep));
    max_steps_ = loads_ + 1;
  }

  static std::int64_t ctas_of(const Planes& result, std::int64_t element_bytes) {
    return tiles_of(result, element_bytes) * ceil_div(result.channels, kChannels);
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }
  // What is all there stays for the CTA's few microseconds.
  bool looks_once() const override { return true; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    PageTouches pages(touches);
    if (step < loads_) {
      for (const Planes& input : inputs_)
        touch(input, cta, step * kChannelsPerStep, (step + 1) * kChannelsPerStep, false, pages);
      if (step == 0) others_.loads(cta, 0, touches);
    } else {
      touch(result_, cta, first_channel(cta), first_channel(cta) + kChannels, true, pages);
      others_.stores(cta, 0, touches);
    }
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0 || step >= loads_) return step;  // also touches what others_ says
    std::int64_t next = loads_;
    for (const Planes& input : inputs_) {
      const std::int64_t channel = missing_channel(input, cta, step * kChannelsPerStep, input.channels, false, pages);
      if (channel < input.channels) next = std::min(next, channel / kChannelsPerStep);
    }
    return next;
  }

  bool all_granted(const PageTable& pages) const override {
    return std::ranges::all_of(inputs_, [&](const Planes& input) { return input.granted(pages); }) &&
           result_.granted(pages) && others_.all_granted(pages);
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    const std::int64_t others = others_.empty() ? ctas_ : others_.next_stall(from, ctas_, 0, pages).first;
    while (from < others) {
      // No page of the images before is missing.
      const std::int64_t image = from % tiles_ * tile_ / result_.plane;
      std::int64_t next = result_.next_missing_image(image, true, pages);
      for (const Planes& input : inputs_) next = std::min(next, input.next_missing_image(image, false, pages));
      const bool none = next >= result_.images();
      if (next > image) from += (none ? tiles_ : next * result_.plane / tile_) - from % tiles_;
      if (none) continue;
      if (from >= others) break;
      if (misses(from, pages)) return {from, from + 1};
      ++from;
    }
    return {others, std::min(others + 1, ctas_)};
  }

  // All inputs once for each tile of the result's channels.
  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    const std::int64_t piece = std::min(tile_, kLineBytes);
    for (const Planes& input : inputs_) {
      if (input.faulting == 0) continue;
      const LinkRequests requests = piece_requests_of(input.address, input.bytes, piece) * (ctas_ / tiles_);
      add_remote({input.address, input.bytes, requests, requests.requests, true, false}, pages, access);
    }
    if (result_.faulting > 0)
      add_remote(
          {result_.address, result_.bytes, piece_requests_of(result_.address, result_.bytes, piece), 0, false, true},
          pages, access);
    others_.add_remote_access(pages, sms, access);
    return access;
  }

 private:
  static std::int64_t tiles_of(const Planes& result, std::int64_t element_bytes) {
    return ceil_div(result.images() * result.plane, kPixels * element_bytes);
  }
  std::int64_t first_channel(std::int64_t cta) const { return cta / tiles_ * kChannels; }

  // Visits the images that the CTA has pixels of, with their bytes [first, last) in each plane of `planes`.
  template <class Visit>
  void each_image(const Planes& planes, std::int64_t cta, Visit visit) const {
    const std::int64_t end = std::min((cta % tiles_ + 1) * tile_, result_.images() * result_.plane);
    for (std::int64_t at = cta % tiles_ * tile_; at < end;) {  // a tile runs across images
      const std::int64_t image = at / result_.plane, image_end = std::min((image + 1) * result_.plane, end);
      const std::int64_t first = scaled(planes, at - image * result_.plane);
      visit(image, first, std::max(first + 1, scaled(planes, image_end - image * result_.plane)));
      at = image_end;
    }
  }
  // What the CTA touches of each of channels [channel, channel_end).
  void touch(const Planes& planes, std::int64_t cta, std::int64_t channel, std::int64_t channel_end, bool store,
             PageTouches& pages) const {
    each_image(planes, cta, [&](std::int64_t image, std::int64_t first, std::int64_t last) {
      pages.add_pieces(planes, image, channel, channel_end, first, last, store);
    });
  }
  // The byte of a plane of `planes` at the same share as byte `at` of a plane of the result.
  std::int64_t scaled(const Planes& planes, std::int64_t at) const {
    if (planes.plane == result_.plane) return at;
    if (at == result_.plane) return planes.plane;
    const double share = static_cast<double>(at) / static_cast<double>(result_.plane);
    return std::min(planes.plane - 1, static_cast<std::int64_t>(share * static_cast<double>(planes.plane)));
  }
  // The first of channels [channel, channel_end) of which the CTA touches a page that is missing; none: `channel_end`.
  std::int64_t missing_channel(const Planes& planes, std::int64_t cta, std::int64_t channel, std::int64_t channel_end,
                               bool store, const PageTable& pages) const {
    std::int64_t next = channel_end;
    each_image(planes, cta, [&](std::int64_t image, std::int64_t first, std::int64_t last) {
      next = planes.next_missing_piece(image, channel, next, first, last, store, pages);
    });
    return next;
  }
  bool misses(std::int64_t cta, const PageTable& pages) const {
    const std::int64_t first = first_channel(cta), end = std::min(first + kChannels, result_.channels);
    return missing_channel(result_, cta, first, end, true, pages) < end ||
           std::ranges::any_of(inputs_, [&](const Planes& input) {
             return missing_channel(input, cta, 0, input.channels, false, pages) < input.channels;
           });
  }

  std::vector<Planes> inputs_;
  Planes result_;
  std::int64_t tile_ = 1, tiles_ = 1;  // bytes of a plane of the result, and how many of them its images have
  SweepSet others_;
  std::int64_t loads_ = 1;  // steps
};

// The gradient of a convolution's weight: a sum over all pixels of products of channels, a CTA for 128 x 64 of them and
// an image, which it walks page by page. How many CTAs share the sum differs by kernel; one per image is among them.
class PixelSumProgram final : public KernelProgram {
 public:
  PixelSumProgram(std::vector<Planes> inputs, SweepSet others)
      : inputs_(std::move(inputs)), others_(std::move(others)) {
    const Counts counts = counts_of(inputs_);
    ctas_ = counts.first * counts.second * counts.images;
    first_tiles_ = counts.first;
    second_tiles_ = counts.second;
    threads_ = kConvThreads;
    ctas_per_sm_ = kConvCtasPerSm;
    for (const Planes& input : inputs_) loads_ = std::max(loads_, ceil_div(input.plane, kPageBytes));
    max_steps_ = loads_ + (others_.any_write() ? 1 : 0);
  }

  static std::int64_t ctas_of(const std::vector<Planes>& inputs) {
    const Counts counts = counts_of(inputs);
    return counts.first * counts.second * counts.images;
  }

  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }
  bool looks_once() const override { return true; }

  void step(std::int64_t cta, int, std::int64_t step, std::vector<Touch>& touches) const override {
    touches.clear();
    PageTouches pages(touches);
    for (std::size_t i = 0; step < loads_ && i < inputs_.size(); ++i) {
      const Tile tile = tile_of(i, cta);
      const std::int64_t from = step * kPageBytes, to = std::min(from + kPageBytes, inputs_[i].plane);
      if (from < to) pages.add_pieces(inputs_[i], tile.image, tile.channel, tile.channel_end, from, to, false);
    }
    if (step == 0) others_.loads(cta, 0, touches);
    if (step + 1 == max_steps_) others_.stores(cta, 0, touches);
  }

  std::int64_t next_miss(std::int64_t cta, int, std::int64_t step, const PageTable& pages) const override {
    if (step == 0) return step;  // also touches what others_ says
    while (step + 1 < max_steps_ && there(cta, step, step + 1, pages)) ++step;
    return step;
  }

  bool all_granted(const PageTable& pages) const override {
    return std::ranges::all_of(inputs_, [&](const Planes& input) { return input.granted(pages); }) &&
           others_.all_granted(pages);
  }

  StallRun next_stall(std::int64_t from, const PageTable& pages) const override {
    const std::int64_t others = others_.empty() ? ctas_ : others_.next_stall(from, ctas_, 0, pages).first;
    const std::int64_t of_image = first_tiles_ * second_tiles_;
    while (from < others) {
      std::int64_t next = ctas_ / of_image;
      for (const Planes& input : inputs_)
        next = std::min(next, input.next_missing_image(from / of_image, false, pages));
      from = std::max(from, next * of_image);
      if (from >= others) break;
      if (!there(from, 0, loads_, pages)) return {from, from + 1};
      ++from;
    }
    return {others, std::min(others + 1, ctas_)};
  }

  RemoteAccess remote_access(const PageTable& pages, int sms) const override {
    RemoteAccess access;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Planes& input = inputs_[i];
      if (input.faulting == 0) continue;
      const LinkRequests requests =
          piece_requests_of(input.address, input.bytes, kSectorBytes) * (i == 0 ? second_tiles_ : first_tiles_);
      add_remote({input.address, input.bytes, requests, requests.requests, true, false}, pages, access);
    }
    others_.add_remote_access(pages, sms, access);
    return access;
  }

 private:
  struct Counts {
    std::int64_t first = 1, second = 1, images = 1;  // tiles of channels of the first input, of the others
  };
  static Counts counts_of(const std::vector<Planes>& inputs) {
    Counts counts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::int64_t& tiles = i == 0 ? counts.first : counts.second;
      tiles = std::max(tiles, ceil_div(inputs[i].channels, i == 0 ? kSummedChannels : kChannels));
      counts.images = std::max(counts.images, inputs[i].images());
    }
    return counts;
  }

  struct Tile {
    std::int64_t image = 0, channel = 0, channel_end = 0;
  };
  // Of input `i`.
  Tile tile_of(std::size_t i, std::int64_t cta) const {
    const std::int64_t size = i == 0 ? kSummedChannels : kChannels;
    const std::int64_t tile = i == 0 ? cta % first_tiles_ : cta / first_tiles_ % second_tiles_;
    return {cta / (first_tiles_ * second_tiles_), tile * size, std::min((tile + 1) * size, inputs_[i].channels)};
  }
  // Whether what the CTA touches in steps [step, step_end) is all there.
  bool there(std::int64_t cta, std::int64_t step, std::int64_t step_end, const PageTable& pages) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Planes& planes = inputs_[i];
      const Tile tile = tile_of(i, cta);
      const std::int64_t from = step * kPageBytes, to = std::min(step_end * kPageBytes, planes.plane);
      if (from < to && planes.next_missing_piece(tile.image, tile.channel, tile.channel_end, from, to, false, pages) <
                           tile.channel_end)
        return false;
    }
    return true;
  }

  std::vector<Planes> inputs_;
  SweepSet others_;
  std::int64_t first_tiles_ = 1, second_tiles_ = 1, loads_ = 1;
};

std::unique_ptr<KernelProgram> make_pixels_program(LaunchShape, Operands operands, Options options) {
  std::vector<Planes> inputs, results;
  std::vector<Operand> others;
  std::int64_t element_bytes = 4;
  for (const Operand& o : operands) {
    const bool planes = o.pattern == trace::Pattern::Pixels && o.options >= 0 && o.bytes > 0;
    if (!planes || (o.mode != trace::Mode::Read && !results.empty())) {
      others.push_back(o);
      continue;
    }
    const trace::PatternOptions& p = options[static_cast<std::size_t>(o.options)];
    if (o.mode != trace::Mode::Write) inputs.emplace_back(o, p);
    if (o.mode != trace::Mode::Read) {
      results.emplace_back(o, p);
      element_bytes = p.element_bytes;
    }
  }
  if (results.empty()) {
    const std::int64_t ctas = PixelSumProgram::ctas_of(inputs);
    return std::make_unique<PixelSumProgram>(std::move(inputs), SweepSet(others, ctas, kConvThreads / 32));
  }
  const std::int64_t ctas = PixelsProgram::ctas_of(results.front(), element_bytes);
  return std::make_unique<PixelsProgram>(std::move(inputs), results.front(), element_bytes,
                                         SweepSet(others, ctas, kConvThreads / 32));
}

const bool kRegistered =
    add_program_family({.precedence = 26, .takes = has_pattern<trace::Pattern::Pixels>, .make = make_pixels_program});

}  // namespace
}  // namespace uvmsim
