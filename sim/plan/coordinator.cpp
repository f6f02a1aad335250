#include "plan/coordinator.h"

#include <algorithm>

namespace uvmsim {

bool Coordinator::takes_turns(GpuIndex) const { return false; }
bool Coordinator::may_begin(GpuIndex, std::int64_t) const { return true; }
void Coordinator::reached(GpuIndex, std::int64_t, Moment) {}
Time Coordinator::admit(const SwapCopy&, std::span<const SwapCopy>, std::span<const SwapCopy>, Time now) const {
  return now;
}

const SharedLink* group_of(const std::vector<SharedLink>& groups, GpuIndex gpu) {
  const auto found = std::ranges::find_if(
      groups, [gpu](const SharedLink& g) { return std::ranges::find(g.gpus, gpu) != g.gpus.end(); });
  return found == groups.end() ? nullptr : &*found;
}

}  // namespace uvmsim
