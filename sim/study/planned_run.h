// A run under plans.
#pragma once

#include <vector>

#include "engine/run.h"
#include "plan/plan.h"
#include "study/experiment.h"
#include "trace/record.h"

namespace uvmsim {

// The GPUs that `trace` runs on.
std::vector<GpuIndex> gpus_of(const Experiment& experiment, const trace::Trace& trace);

// Runs `trace`, the program that `plans` are for (plan/rewrite.h), in this process under these plans, on the GPUs
// `gpus` only (empty: all): on explicit memory when workload.memory is "device", else on managed memory by calls. Call
// once per process.
Result run_planned(const Experiment& experiment, trace::Trace trace, const std::vector<Plan>& plans, RunOptions options,
                   std::vector<GpuIndex> gpus = {});

}  // namespace uvmsim
