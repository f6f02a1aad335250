#include <algorithm>
#include <map>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

// GPUs on one link take turns with their forward passes, which swap out, so that copies out of one meet copies in of
// others: a token per link for the direction to host memory. Turns go round: (iteration 0, first GPU), (0, second),
// ..., (1, first), ...
//
// A GPU waits only for turns that come before its own and gives its turn back where it would wait for others, in a
// collective: there is no deadlock. After a collective all GPUs are in step again and pay the offset again.
class BidirectionalOverlapping final : public Coordinator {
 public:
  struct Options {
    std::string scope = "link";
    int holders = 1;
    std::string release = "forward_and_copies";

    static const Description& description() {
      static const Description d =
          Describe<Options>("turns with forward passes")
              .text("scope", &Options::scope,
                    "who shares a token: all GPUs of a shared link, or each pair of neighbours", {"link", "pair"})
              .integer("holders", &Options::holders, "GPUs that may have a turn at a time", {1, 1024})
              .text("release", &Options::release,
                    "a turn ends when the forward pass has run and its copies out have ended, with the forward pass "
                    "alone, or with the last of its copies out",
                    {"forward_and_copies", "backward", "last_copy_out"})
              .build();
      return d;
    }
  };
  static constexpr bool kTakesTurns = true;

  BidirectionalOverlapping(const Options& options, const std::vector<SharedLink>& links) : options_(options) {
    for (const SharedLink& link : links) {
      const std::size_t size = options.scope == "pair" ? 2 : link.gpus.size();
      for (std::size_t first = 0; first < link.gpus.size(); first += size) {
        const auto begin = link.gpus.begin() + static_cast<std::ptrdiff_t>(first);
        const auto count = std::min(size, link.gpus.size() - first);
        groups_.push_back({link.name, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
      }
    }
  }

  bool takes_turns(GpuIndex gpu) const override { return group_of(groups_, gpu) != nullptr; }

  bool may_begin(GpuIndex gpu, std::int64_t iteration) const override {
    const SharedLink* group = group_of(groups_, gpu);
    if (group == nullptr) return true;
    std::int64_t held = 0;  // turns before this one that are not given back
    for (const GpuIndex other : group->gpus) {
      const auto state = states_.find(other);
      const std::int64_t before = iteration + (other < gpu ? 1 : 0);
      if (state == states_.end())
        held += before;
      else if (!state->second.finished)
        held += std::max<std::int64_t>(0, before - state->second.returned);
    }
    return held < options_.holders;
  }

  void reached(GpuIndex gpu, std::int64_t iteration, Moment moment) override {
    State& s = states_[gpu];
    if (moment == Moment::ForwardDone) ++s.forward;
    if (moment == Moment::CopiesOutDone) ++s.copies;
    s.finished |= moment == Moment::Finished;
    const std::int64_t over = options_.release == "backward"        ? s.forward
                              : options_.release == "last_copy_out" ? s.copies
                                                                    : std::min(s.forward, s.copies);
    s.returned = std::max({s.returned, over, moment == Moment::MeetsPeers ? iteration + 1 : 0});
  }

 private:
  struct State {
    std::int64_t forward = 0, copies = 0;  // iterations with that behind them
    std::int64_t returned = 0;             // turns
    bool finished = false;
  };
  const Options options_;
  std::vector<SharedLink> groups_;
  std::map<GpuIndex, State> states_;
};

const bool kRegistered = add_plug_in<Coordinator, BidirectionalOverlapping>(
    {.name = "bidirectional_overlapping",
     .summary = "GPUs on one link take turns with forward passes, which swap out",
     .source = "reconstruction of Tensor Movement Orchestration, HPCA 2023, from its abstract and an outline"});

}  // namespace
}  // namespace uvmsim
