// What the products of a convolution take: forward, gradient of the data, gradient of the weight.
#pragma once

#include <string>

#include "workload/generators/dnn/tensor.h"

namespace uvmsim::dnn {

struct ConvWork {
  // One of the three products.
  struct Product {
    KernelClass kernel_class = KernelClass::Conv;
    Recorder::Tuning tuning;
  };
  std::string name;  // "conv2d_k3"
  double flops = 0;  // of each of the three
  Product forward, data, weight;
};

// Of `x` (batch, channels, one to three extents) with `weight` (out, in / groups, kernel...; of a transposed one in,
// out / groups, kernel...) to `out`.
ConvWork conv_work(const Shape& x, const Shape& weight, const Shape& out, std::int64_t groups, bool transposed,
                   bool tensor_cores);

}  // namespace uvmsim::dnn
