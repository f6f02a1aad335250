// When what a segment made, or read, on the way leaves the GPU again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/plan.h"

namespace uvmsim {

// After which of the segment's kernels `tensor` leaves: the last one that uses it, the last of all if none does;
// nullopt: it leaves after kernel `before`, which uses it. `uses(kernel, tensor)`: whether that kernel does.
template <class Uses>
std::optional<std::size_t> leaves_after(const Recompute& segment, std::int32_t tensor, const Uses& uses) {
  if (uses(segment.before, tensor)) return std::nullopt;
  for (std::size_t n = segment.kernels.size(); n-- > 0;)
    if (uses(segment.kernels[n], tensor)) return n;
  return segment.kernels.size() - 1;
}

}  // namespace uvmsim
