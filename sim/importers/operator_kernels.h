// In which order the kernels of PyTorch's operators touch their operands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "importers/import_builder.h"

namespace uvmsim {

struct OperatorKernel {
  std::int64_t call = -1;   // of the operator; its kernels follow one another
  std::string_view op;      // of the dispatcher: "aten.addmm.default", "aten::addmm"
  std::string_view kernel;  // demangled
  Extents grid = {};
  std::int64_t block = 0;  // threads
};

// Turns what an operator reads and writes into what each of its kernels touches, and in which order, as far as names,
// launches and sizes tell: the rest stays as it is. Sources: PyTorch's ATen/native/cuda (Loops.cuh,
// MultiTensorApply.cuh, SoftMax.cu, layer_norm_kernel.cu, Indexing.cu), CUTLASS's threadblock swizzle, and the fault
// entries of networks (validation/hardware/h200_vm/README.md).
class OperatorKernels {
 public:
  explicit OperatorKernels(ImportBuilder& into) : into_(into) {}

  // Whether `kernel` takes parts of lists of tensors: it needs all operands of its operator to tell which.
  static bool takes_lists(std::string_view kernel);

  // `operands`: what is read, in the order of the operator's arguments, then what is written. Kernels come in the order
  // of their launches.
  std::vector<trace::Access> operands(const OperatorKernel& kernel, std::vector<trace::Access> operands);

 private:
  ImportBuilder& into_;
  std::int64_t call_ = -1, ctas_ = 0;  // the call whose kernels come, and CTAs of those that came
  std::int64_t images_ = 0;            // of a batch, once a convolution has said so; 0: not known
};

}  // namespace uvmsim
