// A trace's kernels on another GPU.
#pragma once

#include <string_view>

#include "machine/machine.h"
#include "trace/record.h"
#include "workload/generators/dnn/roofline.h"

namespace uvmsim {

// What a kernel is, by the names that cuBLAS, cuDNN, CUTLASS, PyTorch and Triton give theirs; Pointwise for others.
struct NamedKernel {
  dnn::KernelClass kernel_class = dnn::KernelClass::Pointwise;
  bool tensor_cores = false;
  bool known = false;
};
NamedKernel kernel_of(std::string_view name);

// Whether kernels of the class are matrix products or convolutions: bound by arithmetic.
bool multiplies_matrices(dnn::KernelClass kernel_class);

// Multiplies the duration of each kernel by the ratio of the times that the rooflines of `to` and `from` give for it:
// by its class, its arithmetic where the trace has it, and the bytes of its operands where it has some. A kernel with
// neither takes the ratio of the peaks that bind its class. Durations on neither GPU go below the shortest kernel's.
// The header says so: durations from `from`, scaled; devices are `to`'s; its unknowns count kernels of unknown name and
// those without arithmetic. Host times are not changed.
void retarget(trace::Trace& trace, const GpuSpec& from, const GpuSpec& to);
void retarget(trace::Trace& trace, const dnn::RooflineDevice& from, const dnn::RooflineDevice& to);

}  // namespace uvmsim
