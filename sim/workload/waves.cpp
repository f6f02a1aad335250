#include "workload/waves.h"

#include "machine/occupancy.h"
#include "workload/retarget.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTileBytes = std::int64_t{128} * 128 * 4;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t waves_of(const trace::Kernel& kernel, std::string_view name, std::int64_t written, const GpuSpec& gpu) {
  using dnn::KernelClass;
  if (gpu.sms <= 0) return 0;
  if (kernel.grid > 0 && kernel.block > 0)
    return divide_up(kernel.grid, std::int64_t{gpu.sms} * resident_ctas(gpu, kernel.block, kernel.registers));
  const KernelClass of = kernel_of(name).kernel_class;
  if (!multiplies_matrices(of) || of == KernelClass::WeightGradient || of == KernelClass::WeightGradient3d) return 0;
  return divide_up(divide_up(written, kTileBytes), gpu.sms);
}

}  // namespace uvmsim
