// The programs of an experiment's devices as planners see them, and as plans want them (plan/rewrite.h).
#pragma once

#include <span>

#include "plan/plan.h"
#include "plan/profile.h"
#include "study/experiment.h"

namespace uvmsim {

// The workload's device that runs on each GPU: replicas are device 0 of a process each, else GPU n is device n.
DeviceOrdinal device_of(const Experiment& experiment, GpuIndex gpu);

// What planners are told of `gpu` besides its program.
ProfileSetting setting_of(const Experiment& experiment, GpuIndex gpu);

// The program that `plans` are for (plan/rewrite.h), on the experiment's GPUs, which count as the first of them does.
trace::Trace planned_program(const Experiment& experiment, trace::Trace trace, std::span<const Plan> plans);

bool asks_for_another_program(const Plan& plan);

// The iteration of `profile`, of the program `trace`, in the program that `plan` is for: its `sub_batches` and `order`.
// UserError when the program cannot run so.
Profile rewritten_profile(const Experiment& experiment, const trace::Trace& trace, const Profile& profile,
                          const Plan& plan);

}  // namespace uvmsim
