// Planners as policies that `uvmsim compare` can put next to those of Unified Memory.
#pragma once

#include <string>
#include <vector>

#include "study/policy_file.h"

namespace uvmsim {

// Each of `names` on explicit memory, then on managed memory by calls; "all": every planner there is. UserError with
// every fault: a name that is no planner, with the nearest one; a name that stands there twice. "PLANNER+CODEC" is that
// planner with what it moves encoded, "PLANNER+COORDINATOR" with its copies coordinated, on explicit memory only:
// nothing encodes or coordinates what calls move.
std::vector<PolicyFile> planner_policies(const std::vector<std::string>& names);

}  // namespace uvmsim
