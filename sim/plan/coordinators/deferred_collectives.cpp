#include <algorithm>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

// What a GPU passes on of a collective waits while tensors are copied, or are about to be, over the links that it
// shares with other GPUs, but no longer than until the kernel that waits for the collective is next: the optimizer's
// first. Copies start when they are ready.
class DeferredCollectives final : public Coordinator {
 public:
  struct Options {
    int margin = 0;

    static const Description& description() {
      static const Description d =
          Describe<Options>("collectives when the link is idle")
              .integer("margin", &Options::margin,
                       "kernels that are left before the one that waits for it when a collective waits no longer",
                       {0, 1'000'000}, "kernels")
              .build();
      return d;
    }
  };
  static constexpr bool kTakesTurns = false;

  DeferredCollectives(const Options& options, std::vector<SharedLink> links)
      : options_(options), links_(std::move(links)) {}

  bool coordinates_collectives() const override { return true; }

  Time admit(const SwapCopy& copy, std::span<const SwapCopy> waiting, std::span<const SwapCopy> under_way,
             Time now) const override {
    if (!copy.peer || copy.awaited || copy.until_use <= options_.margin) return now;
    const SharedLink* link = group_of(links_, copy.gpu);
    const auto before = [&](const SwapCopy& c) {
      return !c.peer && (c.gpu == copy.gpu || (link != nullptr && group_of(links_, c.gpu) == link));
    };
    return std::ranges::any_of(waiting, before) || std::ranges::any_of(under_way, before) ? kNever : now;
  }

 private:
  const Options options_;
  const std::vector<SharedLink> links_;
};

const bool kRegistered = add_plug_in<Coordinator, DeferredCollectives>(
    {.name = "deferred_collectives",
     .summary = "collectives wait while tensors are swapped over shared links, until the optimizer needs them",
     .source = "ours: what Tensor Movement Orchestration, HPCA 2023, leaves to future work"});

}  // namespace
}  // namespace uvmsim
