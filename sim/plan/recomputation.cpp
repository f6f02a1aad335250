#include "plan/recomputation.h"

#include <algorithm>

#include "base/number_text.h"
#include "plan/plan_checker.h"
#include "plan/swap_schedule.h"

namespace uvmsim {

Recomputation::Recomputation(const Profile& profile, const Lineage& lineage)
    : graph_(*profile.graph),
      lineage_(lineage),
      away_(graph_.tensors.size()),
      dropped_(graph_.tensors.size()),
      touched_(graph_.tensors.size(), -1) {}

void Recomputation::drop(const Interval& interval) {
  const auto tensor = static_cast<std::size_t>(interval.tensor);
  away_[tensor] = true;
  dropped_[tensor] = &interval;
}

bool Recomputation::drop_again(std::int32_t tensor) {
  const std::int32_t segment = touched_[static_cast<std::size_t>(tensor)];
  if (segment < 0) return false;
  segments_[static_cast<std::size_t>(segment)].drop_again.push_back(tensor);
  away_[static_cast<std::size_t>(tensor)] = true;
  touched_[static_cast<std::size_t>(tensor)] = -1;
  return true;
}

std::vector<std::int32_t> Recomputation::make_for(std::int32_t kernel) {
  std::vector<std::int32_t> wanted, made;
  for (const TensorUse& use : graph_.uses_of(kernel)) {
    if (away(use.tensor)) wanted.push_back(use.tensor);
    touched_[static_cast<std::size_t>(use.tensor)] = -1;
  }
  if (wanted.empty()) return made;
  Recompute segment{.before = kernel};
  segment.kernels = lineage_.kernels_for(wanted, kernel, [&](std::int32_t t) { return away(t); });
  for (const std::int32_t k : segment.kernels) {
    time_ += graph_.kernels[static_cast<std::size_t>(k)].duration;
    for (const TensorUse& use : graph_.uses_of(k)) {
      const auto tensor = static_cast<std::size_t>(use.tensor);
      if (lineage_.allocated(use.tensor, kernel) && std::ranges::find(wanted, use.tensor) == wanted.end())
        touched_[tensor] = static_cast<std::int32_t>(segments_.size());
      if (!away_[tensor] || !use.writes) continue;
      away_[tensor] = false;
      made.push_back(use.tensor);
      if (dropped_[tensor] != nullptr) segment.tensors.push_back(of_interval(*dropped_[tensor]));
      dropped_[tensor] = nullptr;
    }
  }
  segments_.push_back(std::move(segment));
  return made;
}

Recomputation recompute_on_demand(const Profile& profile, const Lineage& lineage, std::span<const std::size_t> dropped,
                                  const std::function<bool(std::int32_t, std::int32_t)>& leaves) {
  std::vector<std::size_t> by_last_use(dropped.begin(), dropped.end());
  std::ranges::stable_sort(by_last_use, {}, [&](std::size_t n) { return profile.intervals[n].last_use; });
  Recomputation r(profile, lineage);
  auto next = by_last_use.begin();
  for (std::int32_t k = 0; k < profile.shape().kernels; ++k) {
    for (const std::int32_t t : r.make_for(k))
      if (leaves(t, k)) r.drop_again(t);
    for (; next != by_last_use.end() && profile.intervals[*next].last_use == k; ++next)
      r.drop(profile.intervals[*next]);
  }
  return r;
}

Plan plan_for_less(const Profile& profile, int plans, Plan plan,
                   const std::function<std::optional<Plan>(std::int64_t)>& plan_for) {
  std::int64_t limit = profile.budget.value;
  for (int n = 0; n < plans && limit > 0; ++n) {
    std::optional<Plan> next = plan_for(limit);
    if (!next) break;
    plan = std::move(*next);
    const std::int64_t over = check_plan(*profile.graph, plan, {}).peak - profile.budget.value;
    if (over <= 0) break;
    limit -= over;
  }
  return plan;
}

void add_segments(const Recomputation& recomputation, Plan& plan) {
  for (const Recompute& segment : recomputation.segments()) plan.actions.emplace_back(segment);
}

std::string recomputed_text(const Recomputation& r) {
  return std::to_string(r.segments().size()) + " segments, " + seconds_text(r.time()) + " of kernels run again";
}

}  // namespace uvmsim
