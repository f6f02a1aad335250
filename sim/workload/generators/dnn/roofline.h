// How long a kernel takes when its operands are resident: the slower of arithmetic and memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace uvmsim::dnn {

// A count, to multiply rates and works with.
inline double real(std::int64_t n) { return static_cast<double>(n); }

// Kernels of one class reach the same share of the peaks.
enum class KernelClass : std::uint8_t {
  Gemm,
  Conv,
  Conv3d,
  DataGradient,
  DataGradient3d,
  WeightGradient,
  WeightGradient3d,
  BatchNorm,
  Pointwise,
  Copy,
  Reduction,
  Softmax,
  Recurrent,
  Attention,
  Gather,
  Optimizer,
  Fill
};

// Peak rates of a GPU, from its data sheet, and what goes by its architecture: the shares of the peaks that kernels
// reach, and fixed times (assumed).
struct RooflineDevice {
  std::string name;
  std::string architecture;      // as GpuSpec::architecture
  double fp32_flops = 0;         // 1/s
  double fp16_tensor_flops = 0;  // 1/s; 0: no tensor cores
  double bandwidth = 0;          // B/s
  std::int64_t memory_bytes = 0;
  double shortest_kernel = 0;      // s
  std::int64_t host_op_ns = 0;     // host time of one framework operation
  bool bf16_tensor_cores = false;  // else bf16 runs as fp32
  std::int64_t tile_group = 0;     // of a product, as PatternOptions::count of what is written
};

// The devices by short name ("v100"), and their names.
const RooflineDevice& roofline_device(std::string_view name);
std::vector<std::string> roofline_device_names();
// A machine's GPU.
RooflineDevice roofline_device(const GpuSpec& gpu);

// Whether the shares of this device's architecture were fitted to measurements; else they are assumed.
bool efficiencies_fitted(const RooflineDevice& device);

// What one kernel does, as far as its time depends on it.
struct KernelWork {
  KernelClass kernel_class = KernelClass::Pointwise;
  double flops = 0;
  std::int64_t bytes = 0;  // over all operands and passes
  bool tensor_cores = false;
  double compute_efficiency = 1;  // on top of the class's: tile quantisation and the like
  double bandwidth_efficiency = 1;
};

// Seconds. The shares of Volta were fitted by hand to published V100 throughputs of ResNet-1001, DenseNet-264, V-Net
// and a language model; other architectures are assumed to reach the same, but for the 3-D convolutions in half
// precision, which did not gain from tensor cores then. Use the result as relative weights, and calibrate the total.
double roofline_seconds(const RooflineDevice& device, const KernelWork& work);

}  // namespace uvmsim::dnn
