#include "plan/planner.h"

#include <algorithm>
#include <set>

namespace uvmsim {
namespace {

// The time at which an interval ends, counted from the begin of the iteration in which it begins.
Time end_of(const Profile& profile, const Interval& i) { return i.needed + (i.wraps ? profile.length : Duration{0}); }

// After which kernel a copy has to start that may not start before `at`, not before the interval begins.
Trigger trigger_at(const Profile& profile, const Interval& i, Time at) {
  std::int32_t best = i.last_use;
  for (std::int32_t k = i.last_use + 1; k != (i.wraps ? i.next_use + profile.shape().kernels : i.next_use); ++k) {
    const Time end =
        profile.end(k % profile.shape().kernels) + (k >= profile.shape().kernels ? profile.length : Duration{0});
    if (end > at) break;
    best = k % profile.shape().kernels;
  }
  return {Trigger::On::AfterKernel, best};
}

// Calls `free(first, outer, bytes)` for what needs no device memory because the CPU does the work of kernels: operands
// of theirs at these kernels and between two of them, and while it lives what nothing else uses.
template <class Free>
void free_on_host(const IterationGraph& graph, const std::set<std::int32_t>& on_host, Free&& free) {
  if (on_host.empty()) return;
  const std::set<std::int32_t> tensors = tensors_on_host(graph, on_host);
  for (std::size_t n = 0; n < graph.tensors.size(); ++n) {
    const GraphTensor& t = graph.tensors[n];
    if (tensors.contains(static_cast<std::int32_t>(n))) {
      free(t.first, t.outer, t.bytes);
      continue;
    }
    for (std::size_t u = 0; u < t.uses.size(); ++u) {
      if (!on_host.contains(t.uses[u])) continue;
      const bool next = u + 1 < t.uses.size() && on_host.contains(t.uses[u + 1]);
      free(t.uses[u], next ? t.uses[u + 1] : t.uses[u] + 1, t.bytes);
    }
  }
}

}  // namespace

Plan empty_plan(const Profile& profile, const std::string& planner) {
  return {.gpu = profile.gpu,
          .iteration = profile.shape(),
          .planner = planner,
          .budget = profile.budget,
          .layer_ends = profile.graph->layer_ends};
}

std::vector<std::int64_t> load_without(const Profile& profile, const std::vector<std::size_t>& swapped) {
  std::vector<std::int64_t> load = profile.graph->load;
  for (const std::size_t s : swapped)
    for (std::int32_t k = 0; k < profile.shape().kernels; ++k)
      if (profile.intervals[s].spans(k)) load[static_cast<std::size_t>(k)] -= profile.intervals[s].bytes;
  return load;
}

void swap_intervals(const Profile& profile, const std::vector<std::size_t>& chosen, int ahead, Plan& plan) {
  std::vector<std::size_t> by_end = chosen;
  std::ranges::stable_sort(by_end, [&](std::size_t a, std::size_t b) {
    return end_of(profile, profile.intervals[a]) > end_of(profile, profile.intervals[b]);
  });
  Time before = kNever;  // the copy in that comes next starts then
  for (const std::size_t index : by_end) {
    const Interval& i = profile.intervals[index];
    const TensorInterval of = of_interval(i);
    const Trigger out{Trigger::On::AfterKernel, i.last_use};
    if (i.dead) {
      plan.actions.push_back(Drop{of, out});
      continue;
    }
    Move move{.of = of, .out = {out}};
    before = std::min(before, end_of(profile, i)) - profile.links.in_time(i.bytes);
    move.in.at = trigger_at(profile, i, before);
    if (ahead > 0) {
      const std::int32_t length = i.next_use - i.last_use + (i.wraps ? profile.shape().kernels : 0);
      const std::int32_t from = i.last_use + std::max(0, length - ahead - 1);
      move.in.at.kernel = from % profile.shape().kernels;
    }
    plan.actions.push_back(std::move(move));
  }
}

std::vector<std::int64_t> load_under(const Profile& profile, const Plan& plan) {
  std::vector<std::int64_t> load = profile.graph->load;
  std::vector<std::int64_t> change(load.size() + 1);  // from one kernel to the next
  const auto free = [&](std::int32_t from, std::int32_t outer, std::int64_t bytes) {
    if (from >= outer) return;
    change[static_cast<std::size_t>(from)] -= bytes;
    change[static_cast<std::size_t>(outer)] += bytes;
  };
  for (const Action& action : plan.actions)
    for (const TensorInterval& i : intervals_of(action)) {
      free(i.last_use + 1, i.wraps() ? profile.shape().kernels : i.next_use, i.bytes);
      if (i.wraps()) free(0, i.next_use, i.bytes);
    }
  free_on_host(*profile.graph, kernels_on_host(plan), free);
  for (const KernelVariant& v : plan.variants)
    load[static_cast<std::size_t>(v.kernel)] += workspace_of(*profile.graph, v);
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < load.size(); ++k) load[k] += sum += change[k];
  return load;
}

void finish(const Profile& profile, Plan& plan) {
  const auto first = [](const Action& action) {
    const std::vector<TensorInterval> of = intervals_of(action);
    return of.empty() ? std::pair(-1, -1) : std::pair(of.front().tensor, of.front().last_use);
  };
  std::ranges::stable_sort(plan.actions, {}, first);
  const std::vector<std::int64_t> load = load_under(profile, plan);
  plan.feasible = load.empty() || std::ranges::max(load) <= profile.budget.value;
}

}  // namespace uvmsim
