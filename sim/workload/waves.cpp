#include "workload/waves.h"

#include <algorithm>

#include "workload/retarget.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTileBytes = std::int64_t{128} * 128 * 4;
constexpr std::int64_t kRegistersPerSm = 65536;  // CUDA C++ Programming Guide, compute capabilities 3.5 to 10.0

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t resident_ctas(const trace::Kernel& kernel, const GpuSpec& gpu) {
  std::int64_t most = gpu.max_threads_per_sm / kernel.block;
  if (gpu.max_ctas_per_sm > 0) most = std::min<std::int64_t>(most, gpu.max_ctas_per_sm);
  if (kernel.registers > 0) most = std::min(most, kRegistersPerSm / (std::int64_t{kernel.registers} * kernel.block));
  return std::max<std::int64_t>(most, 1);
}

}  // namespace

std::int64_t waves_of(const trace::Kernel& kernel, std::string_view name, std::int64_t written, const GpuSpec& gpu) {
  using dnn::KernelClass;
  if (gpu.sms <= 0) return 0;
  if (kernel.grid > 0 && kernel.block > 0) return divide_up(kernel.grid, gpu.sms * resident_ctas(kernel, gpu));
  const KernelClass of = kernel_of(name).kernel_class;
  if (!multiplies_matrices(of) || of == KernelClass::WeightGradient || of == KernelClass::WeightGradient3d) return 0;
  return divide_up(divide_up(written, kTileBytes), gpu.sms);
}

}  // namespace uvmsim
