#include <algorithm>

#include "plan/feature_maps.h"

namespace uvmsim {
namespace {

struct DymemOptions {
  int window = 2;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = DymemOptions;
    static const Description d =
        Describe<O>("tensors of nonlinear networks by their last use")
            .integer("window", &O::window, "convolution layers before its next use, at which a tensor comes back",
                     {1, 1000}, "layers")
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// For networks with branches: what counts is a tensor's last use in the forward pass, in the order in which the
// branches are issued, not the layer that made it. It leaves then, and comes back no earlier than two convolutions
// before its next use, later where memory is short. Two copy streams; kernels wait. The paper's pool keeps tensors by
// type (of one use from the low end, temporary ones from the high end): plan.device_memory "placed" with
// workload.allocator "two_ended" is its nearest.
//
// On hardware: a framework's memory manager and pinned host memory.
class Dymem final : public With<Planner, DymemOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "dymem");
    if (profile.peak() <= profile.budget.value) {
      plan.why = "the iteration fits: nothing is offloaded";
      return plan;
    }
    const std::vector<LayerRun> runs = layer_runs(*profile.graph);
    std::vector<std::int32_t> convolutions;  // runs, ascending
    for (std::size_t r = 0; r < runs.size(); ++r)
      if (runs[r].convolution) convolutions.push_back(static_cast<std::int32_t>(r));
    LoadCurve load(profile.graph->load);
    std::vector<std::size_t> maps = feature_maps(profile, options_.min_bytes);
    for (const std::size_t n : maps) {
      const Interval& i = profile.intervals[n];
      load.free_between(i.last_use, i.next_use, i.bytes);
    }
    std::ranges::stable_sort(maps, {}, [&](std::size_t n) { return profile.intervals[n].next_use; });
    for (const std::size_t n : maps) {
      const Interval& i = profile.intervals[n];
      const std::int32_t back = bring_back(i, window_begin(profile, i, runs, convolutions), profile.budget.value, load);
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}},
                                  .in = {{Trigger::On::BeforeKernel, back}}});
    }
    plan.why = moved_text(plan);
    prove(profile, plan);
    return plan;
  }

  // The first kernel of the layer that is `window` convolution layers before the next use, not before the backward
  // pass.
  std::int32_t window_begin(const Profile& profile, const Interval& i, const std::vector<LayerRun>& runs,
                            const std::vector<std::int32_t>& convolutions) const {
    const auto next = static_cast<std::int32_t>(run_of(runs, i.next_use));
    const auto before = std::ranges::lower_bound(convolutions, next) - convolutions.begin();
    const std::int32_t backward = profile.graph->first_kernel_of("backward");
    if (before < options_.window) return backward;
    const std::int32_t run = convolutions[static_cast<std::size_t>(before - options_.window)];
    return std::max(backward, runs[static_cast<std::size_t>(run)].first);
  }
};

const bool kRegistered = add_plug_in<Planner, Dymem>(
    {.name = "dymem",
     .summary = "offload feature maps after their last use, fetch them two convolutions ahead",
     .source = "HPDC 2020: Efficient GPU Memory Management for Nonlinear DNNs (DyMem)",
     .on_hardware = "a framework's memory manager and pinned host memory"});

}  // namespace
}  // namespace uvmsim
