#include "importers/nsight_moves.h"

#include <algorithm>

namespace uvmsim {

// Migrations that follow each other by address are of one call.
bool add_prefetch(std::vector<NsightPrefetch>& runs, const NsightPrefetch& next) {
  if (!runs.empty()) {
    NsightPrefetch& last = runs.back();
    if (last.device == next.device && last.out == next.out &&
        last.address + static_cast<std::uint64_t>(last.bytes) == next.address) {
      last.bytes += next.bytes;
      return false;
    }
  }
  runs.push_back(next);
  return true;
}

bool add_host_read(std::vector<NsightHostRead>& runs, const NsightHostRead& next) {
  constexpr std::size_t kOpen = 16;  // ranges that a host thread reads in turn
  for (std::size_t i = runs.size(); i-- > 0 && i + kOpen >= runs.size();) {
    NsightHostRead& one = runs[i];
    if (one.kernels != next.kernels || next.address > one.end || next.end < one.address) continue;
    one.address = std::min(one.address, next.address);
    one.end = std::max(one.end, next.end);
    return false;
  }
  runs.push_back(next);
  return true;
}

}  // namespace uvmsim
