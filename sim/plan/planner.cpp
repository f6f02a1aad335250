#include "plan/planner.h"

#include <algorithm>
#include <map>

#include "base/user_error.h"

namespace uvmsim {
namespace {

// Of kernels, in an interval that may reach into the next iteration: position counted from its last use.
std::int32_t position(const Profile& profile, const Interval& interval, std::int32_t kernel) {
  const std::int32_t p = kernel - interval.last_use;
  return p < 0 || (p == 0 && interval.wraps) ? p + (p < 0 ? profile.shape().kernels : 0) : p;
}

std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> index_of(const Profile& profile) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> index;
  for (std::size_t i = 0; i < profile.intervals.size(); ++i)
    index[{profile.intervals[i].tensor, profile.intervals[i].last_use}] = i;
  return index;
}

// The time at which an interval ends, counted from the begin of the iteration in which it begins.
Time end_of(const Profile& profile, const Interval& i) {
  return profile.start(i.next_use) + (i.wraps ? profile.length : Duration{0});
}

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

}  // namespace

PlannerRegistry& planners() {
  static PlannerRegistry registry;
  return registry;
}

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
    Disposition d{.tensor = i.tensor,
                  .last_use = i.last_use,
                  .next_use = i.next_use,
                  .bytes = i.bytes,
                  .kind = i.dead ? Disposition::Kind::Drop : Disposition::Kind::Swap};
    d.out.at = {Trigger::On::AfterKernel, i.last_use};
    if (!i.dead) {
      before = std::min(before, end_of(profile, i)) - profile.links.in_time(i.bytes);
      d.in.at = trigger_at(profile, i, before);
      if (ahead > 0) {
        const std::int32_t length = i.next_use - i.last_use + (i.wraps ? profile.shape().kernels : 0);
        const std::int32_t from = i.last_use + std::max(0, length - ahead - 1);
        d.in.at.kernel = from % profile.shape().kernels;
      }
    }
    plan.dispositions.push_back(std::move(d));
  }
}

void finish(const Profile& profile, Plan& plan) {
  std::ranges::sort(plan.dispositions, {}, [](const Disposition& d) { return std::pair(d.tensor, d.last_use); });
  const auto index = index_of(profile);
  std::vector<std::size_t> absent;
  for (const Disposition& d : plan.dispositions) absent.push_back(index.at({d.tensor, d.last_use}));
  const std::vector<std::int64_t> load = load_without(profile, absent);
  plan.feasible = load.empty() || std::ranges::max(load) <= profile.budget.value;
}

void check_plan(const Profile& profile, const Plan& plan) {
  const auto index = index_of(profile);
  std::vector<InputError> errors;
  for (std::size_t n = 0; n < plan.dispositions.size(); ++n) {
    const Disposition& d = plan.dispositions[n];
    const std::string at = "gpu " + std::to_string(plan.gpu) + " /dispositions/" + std::to_string(n);
    const auto found = index.find({d.tensor, d.last_use});
    if (found == index.end() || profile.intervals[found->second].next_use != d.next_use) {
      errors.push_back({at, "tensor " + std::to_string(d.tensor) + " is not idle from kernel " +
                                std::to_string(d.last_use) + " to kernel " + std::to_string(d.next_use)});
      continue;
    }
    const Interval& i = profile.intervals[found->second];
    if (d.bytes != i.bytes)
      errors.push_back(
          {at + "/bytes", "the tensor holds " + std::to_string(i.bytes) + " bytes, not " + std::to_string(d.bytes)});
    if (d.kind == Disposition::Kind::Encode) errors.push_back({at + "/kind", "encode is not executed"});
    if (d.kind == Disposition::Kind::Drop && !i.dead)
      errors.push_back({at + "/kind", "its contents are read by kernel " + std::to_string(d.next_use)});
    if (d.kind == Disposition::Kind::Keep) continue;
    const std::int32_t end = i.next_use - i.last_use + (i.wraps ? profile.shape().kernels : 0);
    const auto inside = [&](const Trigger& t, bool may_be_before_next) {
      if (t.on == Trigger::On::Access) return may_be_before_next;
      const std::int32_t p = position(profile, i, t.kernel);
      return t.on == Trigger::On::AfterKernel ? p >= 0 && p < end : p > 0 && p <= end;
    };
    if (!inside(d.out.at, false)) errors.push_back({at + "/out", "starts outside the interval"});
    if (d.kind == Disposition::Kind::Swap && !inside(d.in.at, true))
      errors.push_back({at + "/in", "starts outside the interval"});
  }
  if (!errors.empty()) throw UserError("the plan does not fit the workload", std::move(errors));
}

}  // namespace uvmsim
