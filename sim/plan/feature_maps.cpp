#include "plan/feature_maps.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/number_text.h"
#include "plan/plan_checker.h"
#include "plan/swap_schedule.h"

namespace uvmsim {

std::vector<LayerRun> layer_runs(const IterationGraph& graph) {
  const std::int32_t count = graph.shape.kernels;
  const bool layered = graph.layer_ends.size() > 1;
  std::vector<LayerRun> runs;
  std::size_t end = 0;
  for (std::int32_t k = 0; k < count; ++k) {
    const GraphKernel& kernel = graph.kernels[static_cast<std::size_t>(k)];
    bool begins = k == 0 || !layered || kernel.phase != graph.kernels[static_cast<std::size_t>(k) - 1].phase;
    while (end < graph.layer_ends.size() && graph.layer_ends[end] < k) ++end, begins = true;
    if (begins) runs.push_back({.first = k, .outer = k});
    runs.back().outer = k + 1;
    runs.back().convolution |= kernel.kind == KernelClass::Convolution;
  }
  return runs;
}

std::size_t run_of(std::span<const LayerRun> runs, std::int32_t kernel) {
  return static_cast<std::size_t>(std::ranges::upper_bound(runs, kernel, {}, &LayerRun::first) - runs.begin()) - 1;
}

std::vector<std::size_t> feature_maps(const Profile& profile, Bytes least) {
  const IterationGraph& graph = *profile.graph;
  const std::int32_t backward = graph.first_kernel_of("backward");
  std::vector<std::size_t> maps;
  for (std::size_t n = 0; n < profile.intervals.size(); ++n) {
    const Interval& i = profile.intervals[n];
    if (i.tensor >= graph.shape.held && i.last_use < backward && i.next_use >= backward && i.bytes >= least.value &&
        !i.dead)
      maps.push_back(n);
  }
  std::ranges::stable_sort(maps, {}, [&](std::size_t n) { return profile.intervals[n].last_use; });
  return maps;
}

const TensorUse* use_of(const IterationGraph& graph, std::int32_t kernel, std::int32_t tensor) {
  const std::span<const TensorUse> uses = graph.uses_of(kernel);
  const auto found = std::ranges::find(uses, tensor, &TensorUse::tensor);
  return found == uses.end() ? nullptr : &*found;
}

std::int32_t bring_back(const Interval& i, std::int32_t earliest, std::int64_t limit, LoadCurve& load) {
  std::int32_t low = std::clamp(earliest, i.wraps ? 0 : i.last_use + 1, i.next_use) - 1, high = i.next_use;
  while (high - low > 1) {  // they can be back at `high`, not at `low`
    const std::int32_t middle = low + (high - low) / 2;
    (load.most(middle, i.next_use) + i.bytes <= limit ? high : low) = middle;
  }
  load.add(high, i.next_use, i.bytes);
  return high;
}

// --- the end of a plan

void prove(const Profile& profile, Plan& plan) {
  finish(profile, plan);
  std::ranges::stable_sort(plan.actions, {}, [](const Action& action) {
    const std::vector<TensorInterval> of = intervals_of(action);
    return of.empty() ? std::numeric_limits<std::int32_t>::max() : of.front().next_use;  // the CPU's work is last
  });
  const bool across = std::ranges::any_of(plan.actions, [](const Action& action) {
    return std::ranges::any_of(intervals_of(action), &TensorInterval::wraps);
  });
  PlanLimits limits = limits_for(profile, 1);
  const IterationGraph& graph = *profile.graph;
  plan.reclaim = "none";
  if (across) limits.device = PlanLimits::kUnlimited;
  const PlanProof proof = check_plan(graph, plan, limits);
  const bool fits = proof.errors.empty() && proof.later_peak <= profile.budget.value;
  if (across || !fits) plan.reclaim = "lms";
  if (plan.feasible && fits) return;
  plan.feasible = false;
  const std::vector<std::int64_t> load = load_under(profile, plan);
  const std::int64_t least = load.empty() ? 0 : std::ranges::max(load);
  plan.why += "; it does not fit: ";
  if (!proof.errors.empty())
    plan.why += proof.errors.front().message;
  else
    plan.why += bytes_text(std::max(least, proof.later_peak)) + " are needed at once and the GPU has " +
                bytes_text(profile.budget.value);
  limits.device = profile.budget.value;
  if (check_plan(graph, plan, limits).errors.empty()) return;
  plan.actions.clear();
  plan.why += ", and nothing is moved";
}

std::string moved_text(const Plan& plan) {
  std::int64_t tensors = 0, bytes = 0;
  for (const Action& action : plan.actions)
    for (const TensorInterval& i : intervals_of(action)) ++tensors, bytes += i.bytes;
  return count_text(tensors) + (tensors == 1 ? " interval, " : " intervals, ") + bytes_text(bytes) + " each way";
}

}  // namespace uvmsim
