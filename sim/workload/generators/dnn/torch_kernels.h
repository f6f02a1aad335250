// Which kernels an operator of PyTorch launches on a GPU, and what they take: the same work, efficiencies and patterns
// as the operations of ops.h have.
#pragma once

#include <string>
#include <vector>

#include "workload/generators/dnn/tensor.h"

namespace uvmsim::dnn {

// Elements that a CTA of a kernel over lists takes of one tensor of each (kChunkSize of PyTorch's
// ATen/native/cuda/MultiTensorApply.cuh).
inline constexpr std::int64_t kListChunk = 65536;

// A tensor as an operator is given it: the bytes that it covers of a storage, and its shape.
struct TorchTensor {
  trace::TensorId storage = 0;
  std::int64_t storage_bytes = 0;
  std::int64_t offset = 0, length = 0;  // bytes; a view with gaps covers more than it has
  DataType type = DataType::Float32;
  Shape shape = {};
  bool transposed = false;  // the last dimension but one is the one without gaps

  std::int64_t count() const;
};

// A call of an ATen operator, by its name without overload ("convolution", "add_").
struct TorchOperator {
  std::string name;
  std::vector<TorchTensor> reads, writes;  // in the order of the operator's schema; what is updated is in both
  std::int64_t groups = 1;                 // of a convolution
  bool transposed = false;                 // of a convolution
  std::vector<bool> wanted = {};           // of a convolution's backward: data, weight, bias
  std::int64_t window = 1;                 // elements under the kernel of a pooling
  bool of_optimizer = false, of_backward = false;
};

// Records the kernels of `op`. An operator that has no rule of its own is one pointwise kernel over its operands.
// Throws trace::ParseError where its operands are not those that it has in PyTorch.
void launch(Recorder& recorder, const TorchOperator& op);

}  // namespace uvmsim::dnn
