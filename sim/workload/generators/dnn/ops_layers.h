// Layers as frameworks had them that call cuDNN for each: the result is a tensor of its own, the backward pass reads
// input, result and its gradient, and the input's gradient takes that one's place. Source:
// linnanwang/superneurons-release, src/layer/cudnn_activation_layer.cpp and local_response_norm_layer.cpp.
#pragma once

#include "workload/generators/dnn/autograd.h"

namespace uvmsim::dnn {

// `images`, and a gradient is made of them, too, which nobody takes (cudnn_convolution_layer.cpp: every convolution's
// backward pass calls cudnnConvolutionBackwardData).
Tensor with_gradient(const Tensor& images);

Tensor relu_layer(const Tensor& x);

// Local response normalisation over 5 neighbouring channels (Krizhevsky et al., NIPS 2012, section 3.3).
Tensor local_response_norm_layer(const Tensor& x);

}  // namespace uvmsim::dnn
