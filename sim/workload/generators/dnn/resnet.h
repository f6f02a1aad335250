// What ResNets of either kind of block begin with, and the shortcuts around their blocks; and those of basic blocks,
// which detectors stand on, too.
#pragma once

#include <string>

#include "workload/generators/dnn/net.h"

namespace uvmsim::dnn::resnet {

// To a quarter of the extents.
Tensor stem(Net& net, const Tensor& images);

// `x` itself, or projected by a 1x1 convolution where a block changes its channels or its extents.
Tensor shortcut(Net& net, const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t stride);

// `blocks[i]` basic blocks of 64 * 2^i channels, whose first has a stride of `strides[i]`.
Tensor basic_stages(Net& net, Tensor x, const Shape& blocks, const Shape& strides);

}  // namespace uvmsim::dnn::resnet
