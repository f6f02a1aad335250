// What a kernel does, by its name: what planners choose by ("all convolutions").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

enum class KernelClass : std::uint8_t {
  Convolution,
  Pooling,
  Normalization,
  Pointwise,
  Gemm,
  Embedding,
  Reduction,
  Optimizer,
  Other
};

// By the value of the enumerator.
inline const std::vector<std::string> kKernelClassNames = {
    "convolution", "pooling", "normalization", "pointwise", "gemm", "embedding", "reduction", "optimizer", "other"};

// The class of a kernel named as our generators, PyTorch's native kernels or NVIDIA's libraries name theirs. Case does
// not count. A name that says nothing is Other.
KernelClass class_of_kernel(std::string_view name);

// Whether the kernel, by its name, draws random numbers and would draw others if it ran again. Dropout would not: what
// recomputes it keeps the seed and the offset of its generator (torch.utils.checkpoint, preserve_rng_state).
bool draws_without_seed(std::string_view name);

}  // namespace uvmsim
