// How much memory an iteration needs under a planner's plan, and how large a workload fits with it. No time is
// simulated but what a planner asks for.
#pragma once

#include <string>

#include "metrics/result.h"
#include "study/experiment.h"
#include "trace/record.h"

namespace uvmsim {

// Found by bisection in steps of 1 % of what the iteration holds without a plan, 2 MiB at least, from the first of 4/4,
// 3/4, 2/4, 1/4 and 8/4 of that which plans fit into. It is a multiple of the step with which they fit, and with one
// step less they do not; a planner that manages with some budgets and not with larger ones may manage with still less.
// Integer programs are not solved for this: planners that ask for one plan as they do where there is no solver.
constexpr double kNeedStep = 0.01;
constexpr Bytes kLeastNeedStep{2 << 20};

// The most that a measured iteration holds without a plan, of any GPU.
std::int64_t unplanned_bytes(const Experiment& experiment, const trace::Trace& trace);

// Of all kernels of the last iteration.
double flops_of_an_iteration(const trace::Trace& trace);
// Bytes of all tensors that the last iteration makes: what they take where each has memory of its own.
double allocated_in_an_iteration(const trace::Trace& trace);

// Of the measured iterations of `experiment`, each GPU with the same memory, on explicit memory. UserError as
// make_plans.
PlanNeed plan_need(const Experiment& experiment, const trace::Trace& trace);

// The largest value of the generator's parameter, from what it is given as on by doubling and bisection, with which
// plans fit into the memory that the machine has. UserError when there is no such whole number.
LargestValue largest_that_fits(const Experiment& experiment, const std::string& parameter);

// What planning and running look at of `experiment` besides its trace, with `memory` usable on each GPU.
Experiment with_memory(const Experiment& experiment, Bytes memory);

std::string to_text(const PlanNeed& need, const Experiment& experiment);
std::string to_json(const PlanNeed& need, const Experiment& experiment);

}  // namespace uvmsim
