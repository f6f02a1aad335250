#include "workload/generators/dnn/roofline.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace uvmsim::dnn {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// What goes by the architecture (assumed).
struct ArchitectureTraits {
  double shortest_kernel = 0;
  std::int64_t host_op_ns = 0;  // of a host of its time
  bool bf16_tensor_cores = false;
  // How many columns of a product's tiles go together; 0: all. By grids: those of volta_sgemm, and of ampere_sgemm, go
  // along the rows (599 of 599 launches in the public profiles of HolisticTraceAnalysis); most products of an A100 are
  // CUTLASS's there, which swizzle up to 8 columns (all of 2,306); xmma's, on an H100, go down one column after the
  // other.
  std::int64_t tile_group = 1;
};

ArchitectureTraits traits_of(std::string_view architecture) {
  if (architecture == "pascal" || architecture == "volta" || architecture == "turing") return {2.5e-6, 9000, false, 0};
  if (architecture == "ampere") return {2.0e-6, 6000, true, 8};
  if (architecture == "ada") return {1.6e-6, 5000, true, 8};
  return {1.6e-6, 5000, true};
}

RooflineDevice with_traits(RooflineDevice device) {
  const ArchitectureTraits traits = traits_of(device.architecture);
  device.shortest_kernel = traits.shortest_kernel;
  device.host_op_ns = traits.host_op_ns;
  device.bf16_tensor_cores = traits.bf16_tensor_cores;
  device.tile_group = traits.tile_group;
  return device;
}

// Data sheets: V100-SXM2 15.7 TFLOP/s, 125 with tensor cores, 900 GB/s; A100-40 19.5/312/1555; H100-SXM
// 67/989/3350; H200 67/989/4800.
const std::map<std::string, RooflineDevice, std::less<>>& devices() {
  static const std::map<std::string, RooflineDevice, std::less<>> all = {
      {"v100", with_traits({"V100-SXM2-32GB", "volta", 15.7e12, 125e12, 900e9, 32 * kGiB})},
      {"a100", with_traits({"A100-SXM4-40GB", "ampere", 19.5e12, 312e12, 1555e9, 40 * kGiB})},
      {"h100", with_traits({"H100-SXM-80GB", "hopper", 67e12, 989e12, 3350e9, 80 * kGiB})},
      {"h200", with_traits({"H200-SXM-141GB", "hopper", 67e12, 989e12, 4800e9, 139 * kGiB})},
  };
  return all;
}

// Shares of the peaks that a class of kernels reaches.
struct Efficiency {
  double fp32, fp16_tensor, bandwidth;
};

constexpr Efficiency volta_efficiency(KernelClass kernel_class) {
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
    case KernelClass::Recurrent:
      return {0.25, 0.10, 0.60};
    case KernelClass::Attention:
      return {0.60, 0.45, 0.75};
    case KernelClass::Gather:
      return {1.0, 1.0, 0.50};
    case KernelClass::Optimizer:
      return {1.0, 1.0, 0.85};
    case KernelClass::Fill:
      return {1.0, 1.0, 0.85};
  }
  return {};
}

// The class that reaches the same share of the tensor cores' peak since cuDNN 8 (assumed).
constexpr KernelClass on_tensor_cores(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::Conv3d:
      return KernelClass::Conv;
    case KernelClass::DataGradient3d:
      return KernelClass::DataGradient;
    case KernelClass::WeightGradient3d:
      return KernelClass::WeightGradient;
    default:
      return kernel_class;
  }
}

Efficiency efficiency_of(const RooflineDevice& device, KernelClass kernel_class) {
  Efficiency share = volta_efficiency(kernel_class);
  if (device.bf16_tensor_cores) share.fp16_tensor = volta_efficiency(on_tensor_cores(kernel_class)).fp16_tensor;
  return share;
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

RooflineDevice roofline_device(const GpuSpec& gpu) {
  return with_traits({.name = gpu.name,
                      .architecture = gpu.architecture,
                      .fp32_flops = gpu.fp32_flops,
                      .fp16_tensor_flops = gpu.fp16_tensor_flops,
                      .bandwidth = static_cast<double>(gpu.memory_bandwidth.value),
                      .memory_bytes = gpu.memory.value});
}

bool efficiencies_fitted(const RooflineDevice& device) { return device.architecture == "volta"; }

double roofline_seconds(const RooflineDevice& device, const KernelWork& work) {
  const Efficiency share = efficiency_of(device, work.kernel_class);
  const bool tensor_cores = work.tensor_cores && device.fp16_tensor_flops > 0;
  const double peak = tensor_cores ? device.fp16_tensor_flops * share.fp16_tensor : device.fp32_flops * share.fp32;
  const double arithmetic = work.flops / (peak * work.compute_efficiency);
  const double memory =
      static_cast<double>(work.bytes) / (device.bandwidth * share.bandwidth * work.bandwidth_efficiency);
  return std::max({arithmetic, memory, device.shortest_kernel});
}

}  // namespace uvmsim::dnn
