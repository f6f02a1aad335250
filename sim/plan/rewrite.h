// Plans may ask for another program than the recorded one: its batches in parts, its kernels in another order. Ordinals
// of such a plan count in the rewritten program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "plan/iteration_graph.h"
#include "plan/plan.h"
#include "trace/record.h"

namespace uvmsim {

// `trace` with the kernels of each iteration of the shape `shape` in the order `order` (KernelOrder). What the host
// does before a kernel goes with it; a tensor is allocated right before the first kernel that uses it and freed right
// after the last one, as a runtime does that orders a graph itself. UserError, at `place`, when an iteration cannot run
// so, or the trace has several devices.
trace::Trace with_order(const trace::Trace& trace, const IterationShape& shape, std::span<const std::int32_t> order,
                        const std::string& place);

// The program that `plans` are for: `trace` itself where they ask for no other. UserError when they do not agree, or
// with_order's and split_batch's. `gpu`, for parts of batches: whose kernels they are; nullptr: not told.
trace::Trace rewritten(trace::Trace trace, std::span<const Plan> plans, const GpuSpec* gpu);

}  // namespace uvmsim
