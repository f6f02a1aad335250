#include <algorithm>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

// Time is cut into slots that go round among the GPUs of a shared link; copies in and out of one GPU have different
// slots where there are two GPUs at least. A copy starts only in a slot of its GPU; it may last beyond it.
class StaticSlots final : public Coordinator {
 public:
  struct Options {
    Duration slot = microseconds(10'000);

    static const Description& description() {
      static const Description d = Describe<Options>("time slots")
                                       .duration("slot", &Options::slot, "length of a slot (assumed)", {1e-6, {}})
                                       .build();
      return d;
    }
  };
  static constexpr bool kTakesTurns = false;

  StaticSlots(const Options& options, std::vector<SharedLink> links) : options_(options), links_(std::move(links)) {}

  Time admit(const SwapCopy& copy, std::span<const SwapCopy>, std::span<const SwapCopy>, Time now) const override {
    const SharedLink* link = group_of(links_, copy.gpu);
    if (link == nullptr) return now;
    const auto gpus = static_cast<std::int64_t>(link->gpus.size());
    const std::int64_t rank = std::ranges::find(link->gpus, copy.gpu) - link->gpus.begin();
    const std::int64_t own = copy.out ? rank : (rank + gpus / 2) % gpus;
    const std::int64_t slot = now / options_.slot;
    const std::int64_t wait = (own - slot % gpus + gpus) % gpus;
    return wait == 0 ? now : options_.slot * (slot + wait);
  }

 private:
  const Options options_;
  const std::vector<SharedLink> links_;
};

const bool kRegistered = add_plug_in<Coordinator, StaticSlots>({.name = "static_slots",
                                                                .summary = "a shared link belongs to its GPUs in turn",
                                                                .source = "time-division multiple access"});

}  // namespace
}  // namespace uvmsim
