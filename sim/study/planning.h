// From an experiment to plans, and from plans to a run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "plan/plan_checker.h"
#include "plan/plan_json.h"
#include "plan/planner.h"
#include "study/experiment.h"
#include "trace/record.h"

namespace uvmsim {

class PlanningProgress;

// The plans ask for what no call of managed memory does.
class NotForManagedMemory : public UserError {
 public:
  NotForManagedMemory(std::string why, std::vector<InputError> errors)
      : UserError("the plan cannot be executed", std::move(errors)), why_(std::move(why)) {}
  const std::string& why() const { return why_; }  // in short

 private:
  std::string why_;
};

// What each planner is told: per GPU and shape of iteration, those shapes that measured iterations have. Grouped by
// shape; `trace` is make_trace's. UserError when a plan means nothing for the workload.
std::vector<std::vector<Profile>> profiles_of(const Experiment& experiment, const trace::Trace& trace);

// The plans that the experiment's planner makes. Solves and simulates in child processes: call it before this process
// runs a simulation. `progress`, where there is one, hears of it. UserError when the experiment names no planner.
PlanFile make_plans(const Experiment& experiment, const trace::Trace& trace, PlanningProgress* progress = nullptr);

// Whether the plans that the experiment's planner makes keep to the memory of the GPUs, as they say and as the checker
// proves. Planners that ask for an integer program hear that there is no solver. UserError as make_plans.
bool plans_fit(const Experiment& experiment, const trace::Trace& trace);

// What there is for tensors of `gpu` under a plan; unlimited where they are in managed memory.
PlanLimits limits_of(const Experiment& experiment, GpuIndex gpu);

// UserError unless `plans` are for this experiment and can be executed.
void check_plans(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans);

// The result, as JSON, of a run in this process under the plans that the experiment's planner makes; done_once
// (shared_work.h), by experiments with one trace. Outcome::NotManaged where they are NotForManagedMemory. Call once per
// process. UserError as make_plans.
std::string planned_result(const Experiment& experiment, const trace::Trace& trace);

}  // namespace uvmsim
