// What is dropped and made again over an iteration, kernel by kernel, and the actions that say so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/lineage.h"
#include "plan/planner.h"

namespace uvmsim {

class Recomputation {
 public:
  Recomputation(const Profile& profile, const Lineage& lineage);

  bool away(std::int32_t tensor) const { return away_[static_cast<std::size_t>(tensor)]; }
  // The tensor is dropped after the last use of the interval.
  void drop(const Interval& interval);
  // It is dropped again by the segment that made or read it last, unless a kernel has used it since. Whether one did.
  bool drop_again(std::int32_t tensor);

  // Makes again what is away of the operands of kernel `kernel`, which runs next, and says what came back: the operands
  // and what was made on the way. Empty: nothing was away.
  std::vector<std::int32_t> make_for(std::int32_t kernel);

  const std::vector<Recompute>& segments() const { return segments_; }
  Duration time() const { return time_; }  // of all segments

 private:
  const IterationGraph& graph_;
  const Lineage& lineage_;
  std::vector<bool> away_;                // by tensor
  std::vector<const Interval*> dropped_;  // by tensor: no segment has made it yet
  std::vector<std::int32_t> touched_;  // by tensor: the last segment that made or read it, -1: none since its last use
  std::vector<Recompute> segments_;
  Duration time_{};
};

// Drops `dropped`, indices into Profile::intervals, and makes each again when a kernel comes to it. What is made on the
// way to it, and `leaves(tensor, kernel)`, is dropped again.
Recomputation recompute_on_demand(const Profile& profile, const Lineage& lineage, std::span<const std::size_t> dropped,
                                  const std::function<bool(std::int32_t tensor, std::int32_t kernel)>& leaves);

// Plans for the budget and, at most `plans` times in all, for as much less as the proof of the plan is over it: what
// kernels that run again take besides their results is seen only then. `plan_for` nothing: the plan before is the last.
Plan plan_for_less(const Profile& profile, int plans, Plan plan,
                   const std::function<std::optional<Plan>(std::int64_t limit)>& plan_for);

// Adds the segments to the plan.
void add_segments(const Recomputation& recomputation, Plan& plan);

// "n segments, t of kernels run again".
std::string recomputed_text(const Recomputation& recomputation);

}  // namespace uvmsim
