// The prefetches of a program as hooks of PyTorch's modules: the talk's nn.Prefetch before nn.Conv2d.
#pragma once

#include <ostream>

#include "trace/record.h"

namespace uvmsim {

// Writes a Python module whose install(model) prefetches, before the forward and the backward pass of each module
// before whose kernels `trace` has prefetches to a GPU, what those of its tensors are that a hook can name: parameters,
// inputs, and gradients of outputs. Layers of the trace are the modules' names. What a kernel only writes is not there
// yet when a hook runs, and kernels of no layer have no module: the file says how many prefetches were left out.
// UserError when nothing is left.
void write_torch_hooks(const trace::Trace& trace, std::ostream& out);

}  // namespace uvmsim
