#include <deque>

#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

struct NextChunkOptions {
  int frames = 1;
  static const Description& description() {
    static const Description d =
        Describe<NextChunkOptions>("next_chunk: beyond the block")
            .integer("frames", &NextChunkOptions::frames,
                     "2 MiB frames after the one that faulted that are brought whole", {1, 1024}, "frames")
            .build();
    return d;
  }
};

// The driver's tree inside the block; behind it, a thread of its own brings the next 2 MiB of addresses whole, while
// no fault waits. A block that comes by prefetch does not fault, so it asks for nothing: the stream pauses there.
class NextChunk final : public PrefetchPolicy {
 public:
  using Options = NextChunkOptions;
  NextChunk(const DriverConfig& config, const DriverTraits& traits, const NextChunkOptions& options)
      : rules_(density_rules(config, traits)), frames_(static_cast<std::uint32_t>(options.frames)) {}
  PageMask prefetch(const PrefetchView& view) const override { return density_hint(view, rules_); }

  bool looks_ahead() const override { return true; }
  void on_faulted(FrameName faulted) override {
    if (faulted == last_) return;
    last_ = faulted;
    wanted_.clear();  // newer faults say better where the program is
    for (std::uint32_t i = 1; i <= frames_; ++i) wanted_.push_back({faulted.va_space, faulted.frame + i});
  }
  std::optional<FrameName> next(const AheadView& view) override {
    while (!wanted_.empty()) {
      const FrameName frame = wanted_.front();
      wanted_.pop_front();
      if (view.absent(frame)) return frame;
    }
    return std::nullopt;
  }
  bool expects(FrameName frame) const override {
    return frame.va_space == last_.va_space && frame.frame > last_.frame && frame.frame <= last_.frame + frames_;
  }

 private:
  DensityRules rules_;
  std::uint32_t frames_;
  FrameName last_{-1, FrameIndex{}};
  std::deque<FrameName> wanted_;
};

const bool kRegistered = add_plug_in<PrefetchPolicy, NextChunk>(
    {.name = "next_chunk",
     .summary = "the driver's tree, and in the background the next 2 MiB of addresses",
     .source = "next-line prefetching (Smith, ACM Computing Surveys 1982) at the driver's granularity",
     .on_hardware = "another nvidia-uvm: a thread that migrates alongside the bottom half"});

}  // namespace
}  // namespace uvmsim
