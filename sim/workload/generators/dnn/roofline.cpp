#include "workload/generators/dnn/roofline.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Data sheets: V100-SXM2 15.7 TFLOP/s, 125 with tensor cores, 900 GB/s; A100-40 19.5/312/1555; H100-SXM
// 67/989/3350; H200 67/989/4800.
const std::map<std::string, RooflineDevice, std::less<>>& devices() {
  static const std::map<std::string, RooflineDevice, std::less<>> all = {
      {"v100", {"V100-SXM2-32GB", 15.7e12, 125e12, 900e9, 32 * kGiB, 2.5e-6, 9000}},
      {"a100", {"A100-SXM4-40GB", 19.5e12, 312e12, 1555e9, 40 * kGiB, 2.0e-6, 6000}},
      {"h100", {"H100-SXM-80GB", 67e12, 989e12, 3350e9, 80 * kGiB, 1.6e-6, 5000}},
      {"h200", {"H200-SXM-141GB", 67e12, 989e12, 4800e9, 139 * kGiB, 1.6e-6, 5000}},
  };
  return all;
}

// Shares of the peaks that a class of kernels reaches.
struct Efficiency {
  double fp32, fp16_tensor, bandwidth;
};

constexpr Efficiency efficiency_of(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::Gemm:
      return {0.80, 0.55, 0.80};
    case KernelClass::Conv:
      return {0.75, 0.25, 0.65};
    case KernelClass::Conv3d:
      return {0.52, 0.064, 0.65};
    case KernelClass::DataGradient:
      return {0.70, 0.22, 0.60};
    case KernelClass::DataGradient3d:
      return {0.52, 0.064, 0.65};
    case KernelClass::WeightGradient:
      return {0.60, 0.20, 0.60};
    case KernelClass::WeightGradient3d:
      return {0.46, 0.058, 0.65};
    case KernelClass::BatchNorm:
      return {1.0, 1.0, 0.65};
    case KernelClass::Pointwise:
      return {1.0, 1.0, 0.85};
    case KernelClass::Copy:
      return {1.0, 1.0, 0.85};
    case KernelClass::Reduction:
      return {1.0, 1.0, 0.75};
    case KernelClass::Softmax:
      return {1.0, 1.0, 0.75};
    case KernelClass::Gather:
      return {1.0, 1.0, 0.50};
    case KernelClass::Optimizer:
      return {1.0, 1.0, 0.85};
    case KernelClass::Fill:
      return {1.0, 1.0, 0.85};
  }
  return {};
}

}  // namespace

const RooflineDevice& roofline_device(std::string_view name) {
  const auto found = devices().find(name);
  UVMSIM_CHECK(found != devices().end(), "the device is one of roofline_device_names()");
  return found->second;
}

std::vector<std::string> roofline_device_names() {
  std::vector<std::string> names;
  for (const auto& [name, device] : devices()) names.push_back(name);
  return names;
}

double roofline_seconds(const RooflineDevice& device, const KernelWork& work) {
  const Efficiency share = efficiency_of(work.kernel_class);
  const double peak = work.tensor_cores ? device.fp16_tensor_flops * share.fp16_tensor : device.fp32_flops * share.fp32;
  const double arithmetic = work.flops / (peak * work.compute_efficiency);
  const double memory =
      static_cast<double>(work.bytes) / (device.bandwidth * share.bandwidth * work.bandwidth_efficiency);
  return std::max({arithmetic, memory, device.shortest_kernel});
}

}  // namespace uvmsim::dnn
