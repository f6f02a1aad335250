// Batches in parts: what planners share that choose into how many.
#pragma once

#include <functional>
#include <optional>

#include "plan/planner.h"

namespace uvmsim {

// A plan and the iteration that it is for, in its own program.
struct PlanInParts {
  Profile profile;
  Plan plan;
};

// `in_parts(n)`: the plan for n parts of the batch, with Plan::sub_batches; nullopt: the program cannot be split so.
// That for 1 part if it fits without an action; else of n = 1, 2, 4, ... `most` the fastest by estimated_time, those
// that fit before those that do not, tried as long as twice as many are faster or none fits. nullopt: not even one
// part.
std::optional<PlanInParts> fastest_in_parts(const std::function<std::optional<PlanInParts>(int)>& in_parts, int most);

}  // namespace uvmsim
