#include "machine/occupancy.h"

#include <algorithm>

namespace uvmsim {

int resident_ctas(const GpuSpec& gpu, int threads, int registers) {
  constexpr int kParts = 4, kRegistersOfPart = 64 * 1024 / kParts, kUnit = 256;
  int most = gpu.max_threads_per_sm / std::max(threads, 1);
  if (registers > 0) {
    const int of_warp = (registers * kWarpThreads + kUnit - 1) / kUnit * kUnit;
    const int warps = (threads + kWarpThreads - 1) / kWarpThreads;
    most = std::min(most, kParts * (kRegistersOfPart / of_warp) / std::max(warps, 1));
  }
  return std::max(std::min(most, gpu.max_ctas_per_sm), 1);
}

}  // namespace uvmsim
