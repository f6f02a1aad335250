// Operations with autograd: what each allocates, launches and keeps for its backward. They follow eager PyTorch
// on cuDNN. An operation whose name ends in `_` works in place.
#pragma once

#include "workload/generators/dnn/autograd.h"

namespace uvmsim::dnn {

struct ConvShape {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

// Convolution over all spatial dimensions of `x` (two or three). `weight` is (out, in, kernel...). `bias` may be
// None. Saves input and weight.
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, ConvShape shape);

// Batch normalisation in training mode. Saves input, batch mean and inverse deviation (one float per channel).
struct BatchNormParameters {
  Tensor weight, bias, running_mean, running_var;
};
Tensor batch_norm(const Tensor& x, const BatchNormParameters& p);

// ReLU in place. Saves its result, which is the same storage.
Tensor relu_(const Tensor& x);

// a + b, in place into `a` with `add_`. Saves nothing: the gradient goes to both unchanged.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add_(const Tensor& a, const Tensor& b);

// (N, C, spatial...) to (N, C).
Tensor global_average_pool(const Tensor& x);

// x (..., in) times weight (out, in), plus bias unless that is None. Saves input and weight.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

// The mean loss of logits (M, classes) against M class indices: log-softmax, which saves its output, and
// negative log-likelihood, which saves its input (the same storage) and the target.
Tensor cross_entropy(const Tensor& logits, const Tensor& target);

}  // namespace uvmsim::dnn
