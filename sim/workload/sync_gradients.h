// Data-parallel training: the replicas agree on their gradients.
#pragma once

#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

struct GradientSync {
  // 0: one all-reduce at the end of the iteration. Else buckets of about this size, while backward runs.
  Bytes bucket{};
  // Gradients are accumulated over this many iterations; only the last of them synchronises and takes a step.
  int every = 1;
};

// `trace` with all-reduces over every weight gradient (kind "wgrad") that outlives the kernels of its backward pass.
//
// Without buckets: one at the end of the iteration, on the stream of its last kernel; before the phase "optimizer" when
// that frees gradients.
//
// With buckets, as PyTorch's DistributedDataParallel: gradients fill them in the order in which their last kernels of
// the backward pass stand in the trace; a bucket is full when it has reached its size, the first one at 1 MiB. A full
// bucket is reduced in place (gradient_as_bucket_view) on a stream of its own, which waits for the bucket's last
// kernel; the phase "optimizer" waits for all of them.
//
// With `every` > 1, the other iterations leave out what their phase "optimizer" does, and the iteration after them
// does not zero the gradients first. State that a step left out would have made is made at the next step. Gradients
// that every iteration makes and its optimizer frees are accumulated (accumulate_gradients.h).
//
// UserError when an iteration has no weight gradient at its phase "optimizer", or at its end without that phase; with
// buckets or `every` > 1 also when an iteration has no phase "optimizer"; with `every` > 1 also when that phase frees
// weight gradients that its iteration did not make.
trace::Trace sync_gradients(const trace::Trace& trace, const GradientSync& options = {});

}  // namespace uvmsim
