// Data-parallel training whose gradients travel in slices, those that the next forward pass needs first before others.
#pragma once

#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

struct PrioritySync {
  Bytes slice{};            // at most
  bool prioritised = true;  // else slices go in the order in which they are ready
  double droppable = 0;     // share of each slice that need not arrive
};

// `trace` with every weight gradient that lives at the phase "optimizer" summed over the replicas, slice by slice, as
// soon as its last kernel has run. Servers next to the workers take the optimizer's steps, whose kernels are left out,
// and the first kernel of the next iteration that uses a parameter waits for it. The push of a slice to such servers
// and its pull carry over each adapter what an all-reduce of it does: n - 1 of n parts each way, twice.
//
// Which parameters a gradient is for, the optimizer's kernels say: those that use both, or share a state. All slices of
// such a group have a stream, a communicator and a priority of their own: the order in which the forward pass uses the
// parameters. All-reduces that the trace has are left out.
//
// UserError, which begins with `name`, when no iteration has a phase "optimizer" with weight gradients.
trace::Trace sync_by_priority(trace::Trace trace, const PrioritySync& options, const std::string& name);

}  // namespace uvmsim
