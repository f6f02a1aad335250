#include "plan/feature_maps.h"

#include <algorithm>
#include <limits>
#include <string>

#include "plan/plan_checker.h"

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

// --- the load

LoadTree::LoadTree(std::span<const std::int64_t> load) : kernels_(static_cast<std::int32_t>(load.size())) {
  while (leaves_ < load.size()) leaves_ *= 2;
  most_.assign(2 * leaves_, kEmpty);
  whole_.assign(2 * leaves_, 0);
  std::ranges::copy(load, most_.begin() + static_cast<std::ptrdiff_t>(leaves_));
  for (std::size_t n = leaves_; n-- > 1;) most_[n] = std::max(most_[2 * n], most_[2 * n + 1]);
}

void LoadTree::add(std::int32_t first, std::int32_t outer, std::int64_t bytes) {
  if (first >= outer) return;
  const auto apply = [&](std::size_t n) {
    if (most_[n] == kEmpty) return;
    most_[n] += bytes;
    whole_[n] += bytes;
  };
  const auto repair = [&](std::size_t n) {
    for (n /= 2; n > 0; n /= 2) {
      const std::int64_t below = std::max(most_[2 * n], most_[2 * n + 1]);
      most_[n] = below == kEmpty ? kEmpty : below + whole_[n];
    }
  };
  const std::size_t from = static_cast<std::size_t>(first) + leaves_, to = static_cast<std::size_t>(outer) + leaves_;
  for (std::size_t l = from, r = to; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1) apply(l++);
    if (r % 2 == 1) apply(--r);
  }
  repair(from);
  repair(to - 1);
}

void LoadTree::add(const Interval& i, std::int64_t bytes) {
  add(i.last_use + 1, i.wraps ? kernels_ : i.next_use, bytes);
  if (i.wraps) add(0, i.next_use, bytes);
}

std::int64_t LoadTree::most(std::int32_t first, std::int32_t outer) const {
  std::int64_t found = kEmpty;
  if (first >= outer) return found;
  const auto look = [&](std::size_t n) {
    if (most_[n] == kEmpty) return;
    std::int64_t here = most_[n];
    for (std::size_t up = n / 2; up > 0; up /= 2) here += whole_[up];
    found = std::max(found, here);
  };
  for (std::size_t l = static_cast<std::size_t>(first) + leaves_, r = static_cast<std::size_t>(outer) + leaves_; l < r;
       l /= 2, r /= 2) {
    if (l % 2 == 1) look(l++);
    if (r % 2 == 1) look(--r);
  }
  return found;
}

std::int32_t LoadTree::first_above(std::int64_t bytes, std::int32_t from) const {
  if (most(from, kernels_) <= bytes) return -1;
  std::int32_t low = from, high = kernels_;  // the answer is in [low, high)
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (most(low, middle) > bytes ? high : low) = middle;
  }
  return low;
}

std::int32_t bring_back(const Interval& i, std::int32_t earliest, std::int64_t limit, LoadTree& load) {
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
    return of.empty() ? -1 : of.front().next_use;
  });
  const bool across = std::ranges::any_of(plan.actions, [](const Action& action) {
    return std::ranges::any_of(intervals_of(action), &TensorInterval::wraps);
  });
  PlanLimits limits;
  for (const NodeLink& node : profile.nodes) {
    limits.nodes[node.name] = node.capacity.value;
    if (node.nearest) limits.nearest = node.name;
  }
  const IterationGraph& graph = *profile.graph;
  plan.reclaim = "none";
  if (!across) limits.device = profile.budget.value;
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
    plan.why += std::to_string(std::max(least, proof.later_peak)) + " bytes are needed at once and the GPU has " +
                std::to_string(profile.budget.value);
  limits.device = profile.budget.value;
  if (check_plan(graph, plan, limits).errors.empty()) return;
  plan.actions.clear();
  plan.why += ", and nothing is moved";
}

std::string moved_text(const Plan& plan) {
  std::int64_t tensors = 0, bytes = 0;
  for (const Action& action : plan.actions)
    for (const TensorInterval& i : intervals_of(action)) ++tensors, bytes += i.bytes;
  return std::to_string(tensors) + " intervals, " + std::to_string(bytes) + " bytes each way";
}

}  // namespace uvmsim
