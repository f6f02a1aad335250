// Gradient accumulation for programs that drop their gradients after each step.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// The name of the kernels that add a gradient to its sum.
inline constexpr const char* kAccumulateKernel = "accumulate_grad";

// `trace` with the weight gradients (kind "wgrad") that an iteration makes and its phase "optimizer" frees kept for
// `every` iterations, as PyTorch keeps them while zero_grad(set_to_none=True) is called after each step only: the first
// of this many iterations leaves its gradients, the others add theirs to these as soon as they are complete and free
// them, the last one's optimizer uses and frees the sums. Optimizers of the others still stand there.
//
// Collectives over gradients, which only the last of this many iterations may have, are over the sums.
//
// The sum of a gradient takes the time per byte of the first kernel of the optimizer that uses it. Iterations without
// such gradients stay as they are. UserError when iterations make gradients of different sizes.
trace::Trace accumulate_gradients(const trace::Trace& trace, int every);

}  // namespace uvmsim
