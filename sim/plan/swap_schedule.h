// When tensors leave and come back: what planners share that decide by memory over kernels, by layers and by nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/load_curve.h"
#include "plan/plan_checker.h"
#include "plan/profile.h"

namespace uvmsim {

// Runs of kernels that planners decide by: `merged` layers of the trace each. A trace without layers has one of each
// kernel.
class LayerRuns {
 public:
  explicit LayerRuns(const IterationGraph& graph, int merged = 1);

  std::int32_t count() const { return static_cast<std::int32_t>(last_.size()); }
  std::int32_t first(std::int32_t run) const { return run == 0 ? 0 : last(run - 1) + 1; }
  std::int32_t last(std::int32_t run) const { return last_[static_cast<std::size_t>(run)]; }
  std::int32_t of(std::int32_t kernel) const;

 private:
  std::vector<std::int32_t> last_;  // kernels, ascending
};

// Of the tensor's name in the trace's list of kinds, "act", "param", ...; "": none.
std::string kind_of(const IterationGraph& graph, std::int32_t tensor);

// Copies between the GPU and the node that Move::to names; nearest host memory when it is none of the profile's.
const LinkModel& link_to(const Profile& profile, const std::string& node);
// The first node of that kind; nullptr: the machine has none.
const NodeLink* node_of_kind(const Profile& profile, const std::string& kind);

// Takes intervals in the order `order`, of those that do relieve a kernel over `limit`, until none is over it. Returns
// those taken; `curve` has them no more.
std::vector<std::size_t> take_until_fits(const Profile& profile, const std::vector<std::size_t>& order,
                                         std::int64_t limit, LoadCurve& curve);

// Lets `moves`, of intervals that `curve` does not have, come back as early as memory allows, in the order of their
// next uses: after the last kernel, from `not_before` on, at which their bytes do not fit into `limit`. Those whose
// bytes fit all the while are taken out: they stay. `curve` gets what comes back.
void bring_back_early(std::int32_t not_before, std::int64_t limit, LoadCurve& curve, std::vector<Move>& moves);

// The time of an iteration under the moves and drops of `plan` by a model of its own: kernels as profiled, each stream
// later by what its own kernels wait for, one copy at a time in each direction, bytes counted in the order of issue.
// What does not fit is copied out and back meanwhile.
Duration estimated_time(const Profile& profile, const Plan& plan);

// What the plans of `gpus` GPUs, which share the nodes equally, are proved against.
PlanLimits limits_for(const Profile& profile, std::size_t gpus);

// Lets copies that moves make outlive the return of their tensors (Move::keep) where the next move of the tensor, to
// the same place, finds it unchanged. As it was, where the nodes have no room for that; `gpus` GPUs share them equally.
void keep_copies(const Profile& profile, std::size_t gpus, Plan& plan);

// Sorts the actions so that what comes back at one place is in the order of its uses, and the CPU's work comes after
// what leaves there.
void sort_by_use(const Profile& profile, Plan& plan);

// The last step of a planner for `gpus` GPUs: says whether the plan keeps to its budget in the ideal model
// (load_under), and gives up a plan that the checker refuses: no actions, infeasible, and why.
void conclude(const Profile& profile, std::size_t gpus, Plan& plan);

}  // namespace uvmsim
