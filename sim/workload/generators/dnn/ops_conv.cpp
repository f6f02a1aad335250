#include <algorithm>
#include <cmath>
#include <string>

#include "workload/generators/dnn/ops.h"

namespace uvmsim::dnn {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// Implicit-GEMM tile quantisation (assumed): few columns (n) or a short inner dimension (k) lose efficiency as a
// square root.
double tile_efficiency(std::int64_t n, std::int64_t k, double full_k) {
  return std::min(1.0, std::sqrt(real(n) / 64.0)) * std::min(1.0, std::sqrt(real(k) / full_k));
}

// Grouped convolutions launch one small product per group (assumed).
constexpr double kGroupedEfficiency = 0.05;

struct Geometry {
  Shape out;
  std::int64_t in_channels = 0, out_channels = 0;  // of a group, of all
  std::int64_t taps = 1;                           // of the kernel
  double flops = 0;                                // of each of forward, data gradient and weight gradient
  bool three_d = false;
  std::string name;
};

Geometry geometry(const Tensor& x, const Tensor& weight, ConvShape shape) {
  Geometry g;
  g.in_channels = x.shape()[1] / shape.groups;
  g.out_channels = shape.transposed ? weight.shape()[1] * shape.groups : weight.shape()[0];
  g.out = {x.shape()[0], g.out_channels};
  std::int64_t kernel = 0;
  std::int64_t points = x.shape()[0];  // where the kernel is applied
  for (std::size_t d = 2; d < x.shape().size(); ++d) {
    const std::int64_t extent = weight.shape()[d], in = x.shape()[d];
    const std::int64_t padding = shape.padding == kSame ? (extent - 1) / 2 : shape.padding;
    g.out.push_back(shape.transposed ? (in - 1) * shape.stride - 2 * padding + extent
                                     : (in + 2 * padding - extent) / shape.stride + 1);
    g.taps *= extent;
    points *= shape.transposed ? in : g.out.back();
    kernel = std::max(kernel, extent);
  }
  g.flops = 2.0 * real(points * g.out_channels * g.in_channels * g.taps);
  g.three_d = g.out.size() == 5;
  g.name = (g.three_d ? "conv3d_k" : "conv2d_k") + std::to_string(kernel);
  return g;
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, ConvShape shape) {
  Recorder& recorder = x.recorder();
  const bool tensor_cores = recorder.tensor_cores();
  const Geometry g = geometry(x, weight, shape);
  const auto quantised = [&](std::int64_t n, std::int64_t k, double full_k) {
    const double efficiency = shape.groups > 1 ? kGroupedEfficiency : g.three_d ? 1.0 : tile_efficiency(n, k, full_k);
    return Recorder::Tuning{tensor_cores, efficiency};
  };
  Tensor out(recorder, g.out, x.type(), TensorKind::Activation);
  recorder.kernel(g.name + "_fwd", g.three_d ? KernelClass::Conv3d : KernelClass::Conv, g.flops,
                  {dense(x), shared(weight)}, {dense(out)}, quantised(g.out_channels, g.in_channels * g.taps, 128));
  if (bias)
    recorder.kernel("bias_add", KernelClass::Pointwise, real(out.count()), {dense(out), shared(bias)}, {dense(out)},
                    {tensor_cores});

  const Recorder::Tuning data = quantised(g.in_channels, g.out_channels * g.taps, 128);
  const Recorder::Tuning weights = quantised(g.out_channels, g.in_channels * g.taps, 64);
  const bool x_needs = x.needs_gradient(), has_bias = static_cast<bool>(bias);
  link(out, {&x, &weight, &bias}, {x.storage(), weight.storage()},
       [&recorder, g, data, weights, x_needs, has_bias, x_shape = x.shape(), weight_shape = weight.shape(),
        type = x.type(), tensor_cores](const Saved& saved, const Tensor& dy) -> std::vector<Tensor> {
         Tensor dx, db;
         if (x_needs) {
           dx = Tensor(recorder, x_shape, type, TensorKind::Gradient);
           recorder.kernel(g.name + "_dgrad", g.three_d ? KernelClass::DataGradient3d : KernelClass::DataGradient,
                           g.flops, {dense(dy), shared(*saved[1])}, {dense(dx)}, data);
         }
         Tensor dw(recorder, weight_shape, type, TensorKind::WeightGradient);
         recorder.kernel(g.name + "_wgrad", g.three_d ? KernelClass::WeightGradient3d : KernelClass::WeightGradient,
                         g.flops, {dense(*saved[0]), dense(dy)}, {dense(dw)}, weights);
         if (has_bias) {
           db = Tensor(recorder, {g.out_channels}, type, TensorKind::WeightGradient);
           recorder.kernel("bias_grad", KernelClass::Reduction, real(dy.count()), {dense(dy)}, {dense(db)},
                           {tensor_cores});
         }
         return {dx, dw, db};
       });
  return out;
}

}  // namespace uvmsim::dnn
