// Reclaim policies answer "an allocation finds too few bytes, and no transfer under way will free any: which tensors go
// to host memory?". One file each in plan/reclaim/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/registry.h"
#include "base/units.h"

namespace uvmsim {

// A tensor on the GPU that no operation under way or issued needs.
struct IdleTensor {
  std::int64_t bytes = 0;
  std::int32_t ordinal = -1;  // in the plan; -1: no plan names it
};

class ReclaimPolicy : public PlugIn {
 public:
  static constexpr KindText kKind{
      .name = "reclaim", .noun = "reclaim policy", .use = "allocations under a plan that find too few bytes"};

  // Which of `idle`, by index, to move out, in this order, for an allocation of `bytes`. `idle` is the longest idle
  // first. They may be too few; none: the process is out of memory. The same arguments, the same answer.
  virtual std::vector<std::size_t> choose(std::span<const IdleTensor> idle, std::int64_t bytes) const = 0;
};

inline Registry<ReclaimPolicy>& reclaim_policies() { return registry<ReclaimPolicy>(); }

// The first of `idle` that have `bytes` together; all when they have less.
std::vector<std::size_t> first_with(std::span<const IdleTensor> idle, std::int64_t bytes);

}  // namespace uvmsim
