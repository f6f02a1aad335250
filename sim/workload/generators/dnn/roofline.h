// How long a kernel takes when its operands are resident: the slower of arithmetic and memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::dnn {

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
  Gather,
  Optimizer,
  Fill
};

// Peak rates of a GPU, from its data sheet, and fixed times (assumed).
struct RooflineDevice {
  std::string name;
  double fp32_flops = 0;         // 1/s
  double fp16_tensor_flops = 0;  // 1/s
  double bandwidth = 0;          // B/s
  std::int64_t memory_bytes = 0;
  double shortest_kernel = 0;   // s
  std::int64_t host_op_ns = 0;  // host time of one framework operation
};

// The devices by short name ("v100"), and their names.
const RooflineDevice& roofline_device(std::string_view name);
std::vector<std::string> roofline_device_names();

// What one kernel does, as far as its time depends on it.
struct KernelWork {
  KernelClass kernel_class = KernelClass::Pointwise;
  double flops = 0;
  std::int64_t bytes = 0;  // over all operands and passes
  bool tensor_cores = false;
  double compute_efficiency = 1;  // on top of the class's: tile quantisation and the like
  double bandwidth_efficiency = 1;
};

// Seconds. The efficiencies of the classes were fitted by hand to published V100 throughputs of ResNet-1001,
// DenseNet-264, V-Net and a language model: use the result as relative weights, and calibrate the total.
double roofline_seconds(const RooflineDevice& device, const KernelWork& work);

}  // namespace uvmsim::dnn
