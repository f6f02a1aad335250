#include "plan/kernel_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/lower_case.h"

namespace uvmsim {
namespace {

using Class = KernelClass;

// The first part that a name contains decides: what is specific stands before what is general.
constexpr std::array<std::pair<std::string_view, Class>, 70> kParts = {{
    {"adam", Class::Optimizer},
    {"sgd", Class::Optimizer},
    {"momentum", Class::Optimizer},
    {"multi_tensor_apply", Class::Optimizer},
    {"multitensorapply", Class::Optimizer},
    {"optimizer", Class::Optimizer},
    {"weight_update", Class::Optimizer},
    {"embedding", Class::Embedding},
    {"embed", Class::Embedding},
    {"index_select", Class::Embedding},
    {"batch_norm", Class::Normalization},
    {"batchnorm", Class::Normalization},
    {"layer_norm", Class::Normalization},
    {"layernorm", Class::Normalization},
    {"group_norm", Class::Normalization},
    {"groupnorm", Class::Normalization},
    {"instance_norm", Class::Normalization},
    {"rmsnorm", Class::Normalization},
    {"rms_norm", Class::Normalization},
    {"bn_fw", Class::Normalization},
    {"bn_bw", Class::Normalization},
    {"bn_", Class::Normalization},
    {"norm_fwd", Class::Normalization},
    {"norm_bwd", Class::Normalization},
    {"pool", Class::Pooling},
    {"conv", Class::Convolution},
    {"cudnn", Class::Convolution},
    {"winograd", Class::Convolution},
    {"dgrad2d", Class::Convolution},
    {"wgrad2d", Class::Convolution},
    {"fprop", Class::Convolution},
    {"im2col", Class::Convolution},
    {"col2im", Class::Convolution},
    {"gemm", Class::Gemm},
    {"gemv", Class::Gemm},
    {"bmm", Class::Gemm},
    {"matmul", Class::Gemm},
    {"cutlass", Class::Gemm},
    {"linear", Class::Gemm},
    {"attention", Class::Gemm},
    {"flash_", Class::Gemm},
    {"fmha", Class::Gemm},
    {"rnn", Class::Gemm},
    {"lstm", Class::Gemm},
    {"softmax", Class::Reduction},
    {"nll_loss", Class::Reduction},
    {"bias_grad", Class::Reduction},
    {"reduce", Class::Reduction},
    {"sum", Class::Reduction},
    {"mean", Class::Reduction},
    {"argmax", Class::Reduction},
    {"elementwise", Class::Pointwise},
    {"relu", Class::Pointwise},
    {"gelu", Class::Pointwise},
    {"sigmoid", Class::Pointwise},
    {"tanh", Class::Pointwise},
    {"dropout", Class::Pointwise},
    {"scale", Class::Pointwise},
    {"masked", Class::Pointwise},
    {"triangle", Class::Pointwise},
    {"add", Class::Pointwise},
    {"mul", Class::Pointwise},
    {"sub", Class::Pointwise},
    {"div", Class::Pointwise},
    {"fill", Class::Pointwise},
    {"copy", Class::Pointwise},
    {"cat", Class::Pointwise},
    {"cast", Class::Pointwise},
    {"transpose", Class::Pointwise},
    {"bce", Class::Pointwise},
}};

// In the names of PyTorch's random kernels and of cuRAND's generators.
constexpr std::array<std::string_view, 5> kRandomParts = {"distribution_", "bernoulli", "multinomial", "random_from_to",
                                                          "curand"};

}  // namespace

KernelClass class_of_kernel(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const auto& [part, of] : kParts)
    if (lower.find(part) != std::string::npos) return of;
  return Class::Other;
}

bool draws_without_seed(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower.find("dropout") != std::string::npos) return false;
  return std::ranges::any_of(kRandomParts,
                             [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

}  // namespace uvmsim
