// An iteration in passes over parts of its batch: sub-batches, or micro-batches.
#pragma once

#include "machine/machine.h"
#include "trace/record.h"

namespace uvmsim {

// `trace` with each iteration's forward and backward pass made `passes` times, each over an equal part of the batch,
// and the weight gradients of all passes summed before the optimizer steps once (accumulate_gradients.h); gradients
// that live longer than an iteration are added to by the kernels that write them, and zeroed by the first pass only.
//
// Inputs, activations and their gradients take 1/passes of their bytes; weights, their gradients, workspaces and the
// rest stay. A kernel of the passes takes the time by its roofline on the trace's device (header.devices): the longer
// of its arithmetic and the bytes of its operands, against what they were; without a device, 1/passes of its time;
// never less than the shortest kernel of the trace. Arithmetic goes by the waves of CTAs on `gpu` where they are known
// (waves.h); nullptr: by the batch. The host does for each pass what it did for the whole.
//
// Collectives over weight gradients alone are made once, by the last pass, of the sums; those over inputs, activations
// and their gradients, and over parameters, by each pass.
//
// UserError where that cannot be: collectives over nothing that is known, or over weight gradients and something else;
// driver-level segments; tensors of an iteration that the next one uses and frees.
trace::Trace split_batch(trace::Trace trace, int passes, const GpuSpec* gpu = nullptr);

}  // namespace uvmsim
