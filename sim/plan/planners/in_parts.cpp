#include "plan/planners/in_parts.h"

#include <utility>

#include "plan/kernel_ways.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

std::pair<bool, Duration> worth(const PlanInParts& p) {
  return {!p.plan.feasible, estimated_time(profile_with(p.profile, p.plan.variants), p.plan)};
}

}  // namespace

std::optional<PlanInParts> fastest_in_parts(const std::function<std::optional<PlanInParts>(int)>& in_parts, int most) {
  std::optional<PlanInParts> best = in_parts(1);
  if (!best || (best->plan.feasible && best->plan.actions.empty())) return best;
  auto least = worth(*best);
  for (int parts = 2; parts <= most; parts *= 2) {
    std::optional<PlanInParts> next = in_parts(parts);
    if (!next) break;
    const auto now = worth(*next);
    if (now < least) {
      least = now;
      best = std::move(next);
    } else if (best->plan.feasible) {
      break;
    }
  }
  return best;
}

}  // namespace uvmsim
