// Plans on explicit memory: a program with the operations that do what they say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "memory/program.h"
#include "plan/plan.h"
#include "trace/record.h"

namespace uvmsim {

// The places of an iteration by kernel: 2 k is before kernel k, 2 k + 1 after it.
std::size_t place_of(const Trigger& trigger);

// How the program is placed that plans on explicit memory are lowered into: each allocation is a cudaMalloc.
// The engine decides which bytes of the GPU it has when (engine/tensor_memory.h).
trace::Trace as_explicit_memory(trace::Trace trace);

// `program`, which is the placed trace, under `plans`: of the iterations of each plan's shape, from its first iteration
// on. Plan::gpu is the number of the device. Kernels whose work the CPU does are left out. Actions are checked already
// (plan_checker.h); those on tensors that do not live at their place are left out.
Program lower(Program program, const trace::Trace& trace, std::span<const Plan> plans);

// The plan of `plans` for iteration `iteration` of the shape on a GPU: the latest; nullptr: none.
const Plan* plan_for(std::span<const Plan> plans, GpuIndex gpu, const IterationShape& shape, std::int32_t iteration);

}  // namespace uvmsim
