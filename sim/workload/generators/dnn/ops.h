// Operations with autograd: what each allocates, launches and keeps for its backward. They follow eager PyTorch
// on cuDNN. An operation whose name ends in `_` works in place.
#pragma once

#include "workload/generators/dnn/autograd.h"

namespace uvmsim::dnn {

// As a padding: half the kernel in each dimension.
inline constexpr std::int64_t kSame = -1;

struct ConvShape {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool transposed = false;
};

// Convolution over all spatial dimensions of `x` (one to three). `weight` is (out, in / groups, kernel...); of a
// transposed one (in, out / groups, kernel...). `bias` may be None. Saves input and weight. cuDNN's workspaces are
// left out.
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, ConvShape shape);

// Batch normalisation in training mode. Saves input, batch mean and inverse deviation (one float per channel).
struct BatchNormParameters {
  Tensor weight, bias, running_mean, running_var;
};
Tensor batch_norm(const Tensor& x, const BatchNormParameters& p);
// cuDNN's spatial batch normalisation has few CTAs when there are few channels (assumed below 128).
Recorder::Tuning batch_norm_tuning(std::int64_t channels);

// Normalisation of each row of the last dimension. Saves input, mean and inverse deviation (one float per row).
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias);

// ReLU and ELU in place. They save their result, which is the same storage.
Tensor relu_(const Tensor& x);
Tensor elu_(const Tensor& x);
// Pointwise functions into a new tensor. ReLU saves its input in PyTorch 1.0 and its result in 2.x; ELU, sigmoid
// and tanh save their result, GELU its input.
Tensor relu(const Tensor& x);
Tensor elu(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor gelu(const Tensor& x);

// PReLU with one weight per channel. Saves the input. Its backward makes the weight's gradient at full size before
// it is summed (PyTorch 1.0; taken for 2.x as well).
Tensor prelu(const Tensor& x, const Tensor& weight);

// Drops elements, and saves a mask of one byte per element.
Tensor dropout(const Tensor& x);
// Drops all elements of a leading index together: `mask` is (N) for samples, (N, C) for channels.
Tensor drop_slices(const Tensor& x, const Shape& mask);

// a + b, in place into `a` with `add_`. Saves nothing: the gradient goes to both unchanged.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add_(const Tensor& a, const Tensor& b);

// x times `factor`, which is repeated over the dimensions where it has an extent of 1, and over those it lacks at
// the front. Saves both; the gradient of `factor` is made at full size before it is summed.
Tensor multiply(const Tensor& x, const Tensor& factor);
// x times a number. Saves nothing.
Tensor multiply(const Tensor& x);

// Concatenation along the channels. Saves nothing: the gradients are slices of the incoming one, which they keep
// alive.
Tensor concat(const std::vector<Tensor>& parts);

// The same elements under another shape, and a copy of them in another order.
Tensor reshape(const Tensor& x, Shape shape);
Tensor permute(const Tensor& x, Shape shape);

// Pooling over the spatial dimensions. Both save the input; max pooling also an i64 index per result, or the result.
struct PoolShape {
  std::int64_t kernel = 2, stride = 2, padding = 0;
  bool round_up = false;  // of the extents (ceil_mode)
};
Tensor max_pool(const Tensor& x, PoolShape shape);
Tensor average_pool(const Tensor& x, PoolShape shape);
// To `extent` in each spatial dimension.
Tensor adaptive_average_pool(const Tensor& x, std::int64_t extent);
// (N, C, spatial...) to (N, C).
Tensor global_average_pool(const Tensor& x);

// x (..., in) times weight (out, in), plus bias unless that is None. Saves input and weight.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

// The mean loss of logits (M, classes) against M class indices: log-softmax, which saves its output, and
// negative log-likelihood, which saves its input (the same storage) and the target.
Tensor cross_entropy(const Tensor& logits, const Tensor& target);

}  // namespace uvmsim::dnn
