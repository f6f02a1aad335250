// Proves a plan before it runs: walks the iteration once as the engine would issue it and knows for each tensor where
// it is and which contents it has.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "plan/iteration_graph.h"
#include "plan/plan.h"

namespace uvmsim {

// Bytes that there are for tensors.
struct PlanLimits {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t device = kUnlimited;
  std::map<std::string, std::int64_t> nodes{};  // by the name of the memory node; empty: unlimited
  std::string nearest{};                        // the node of moves that name none
};

struct PlanProof {
  std::vector<InputError> errors;               // empty: the plan can be executed
  std::int64_t peak = 0;                        // bytes of the GPU, at most
  std::int64_t later_peak = 0;                  // after the first iteration: what reaches into it was out before
  std::map<std::string, std::int64_t> nodes{};  // bytes of each memory node, at most
};

// Checks `plan` for iterations like `graph`, one after the other. Errors have the place of the action to blame, "gpu 0
// /actions/3"; all that are found are listed:
//   * intervals that the iteration does not have, bytes that are not the tensor's, moments outside the interval, two
//     actions on one interval
//   * a kernel that needs contents which an action gave up: dropped, or made again in part only
//   * a kernel that cannot run again: it has not run yet, an input is gone or was changed since, or others have changed
//     what it would write
//   * names of memory nodes, codecs and reclaim policies that there are not; codecs that do not go with the tensor
//   * launch variants that a kernel does not have
//   * memory: with Plan::reclaim "none" every byte counts, in the order of issue; else what one kernel or allocation
//     needs at once, because all else can leave. Bytes are counted, not placed
//
// Copies in that find no room wait until the use, as the engine lets them: with transfers of Sync::Stream or Host and
// reclaim "none" the proof says exactly whether the engine can execute the plan, and `peak` is its peak. With the
// others, whose bytes are free only when copies end, what is proved can be executed.
PlanProof check_plan(const IterationGraph& graph, const Plan& plan, const PlanLimits& limits);

}  // namespace uvmsim
