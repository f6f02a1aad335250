#include "workload/generators/dnn/conv_work.h"

#include <algorithm>
#include <cmath>

namespace uvmsim::dnn {
namespace {

// Implicit-GEMM tile quantisation (assumed): few columns (n) or a short inner dimension (k) lose efficiency as a
// square root.
double tile_efficiency(double n, double k, double full_k) {
  return std::min(1.0, std::sqrt(n / 64.0)) * std::min(1.0, std::sqrt(k / full_k));
}

// Grouped convolutions launch one small product per group (assumed).
constexpr double kGroupedEfficiency = 0.05;

}  // namespace

ConvWork conv_work(const Shape& x, const Shape& weight, const Shape& out, std::int64_t groups, bool transposed,
                   bool tensor_cores) {
  const double in_channels = real(x[1] / groups);  // of a group
  const double out_channels = transposed ? real(weight[1]) * real(groups) : real(weight[0]);
  const Shape& applied = transposed ? x : out;  // where the kernel is applied
  std::int64_t kernel = 0;
  double taps = 1, points = real(applied[0]);
  for (std::size_t d = 2; d < x.size(); ++d) {
    taps *= real(weight[d]);
    points *= real(applied[d]);
    kernel = std::max(kernel, weight[d]);
  }
  const bool three_d = out.size() == 5;
  const auto quantised = [&](double n, double k, double full_k) {
    const double efficiency = groups > 1 ? kGroupedEfficiency : three_d ? 1.0 : tile_efficiency(n, k, full_k);
    return Recorder::Tuning{tensor_cores, efficiency};
  };
  return {
      .name = (three_d ? "conv3d_k" : "conv2d_k") + std::to_string(kernel),
      .flops = 2.0 * points * out_channels * in_channels * taps,
      .forward = {three_d ? KernelClass::Conv3d : KernelClass::Conv, quantised(out_channels, in_channels * taps, 128)},
      .data = {three_d ? KernelClass::DataGradient3d : KernelClass::DataGradient,
               quantised(in_channels, out_channels * taps, 128)},
      .weight = {three_d ? KernelClass::WeightGradient3d : KernelClass::WeightGradient,
                 quantised(out_channels, in_channels * taps, 64)}};
}

}  // namespace uvmsim::dnn
