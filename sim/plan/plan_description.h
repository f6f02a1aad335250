// Plans, described once: what reads and writes them as JSON, and PLAN.md's tables, follow from it.
#pragma once

#include "base/describe.h"
#include "plan/plan.h"

namespace uvmsim {

// Of a Plan.
const Description& describe_plan();
// Of the alternatives of Action, in their order: the words and the descriptions.
const std::vector<std::string>& action_names();
const std::vector<const Description*>& describe_actions();

// Parts of it, which version 1 of plan files has, too.
const Description& describe_call();
const Description& describe_interval();
const Description& describe_transfer();
const Description& describe_iteration_shape();

}  // namespace uvmsim
