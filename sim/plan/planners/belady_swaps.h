// Swapping by pools of memory with the victims that are needed latest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "plan/profile.h"

namespace uvmsim {

// Memory of one size class: its tensors each take one object; or of all, each its bytes.
struct MemoryPool {
  std::int64_t room = 0;  // objects, or bytes
  bool counts_bytes = false;
};

// A way to divide memory: pools, and that of each tensor; -1: it stays, outside of all pools.
struct MemoryDivision {
  std::vector<MemoryPool> pools{};
  std::vector<std::int32_t> pool_of{};
};

// What is swapped under a division of memory, kernel by kernel: what a kernel needs comes, and where its pool is full
// what is needed latest leaves (Belady). Copies out start after the last use, copies in when there is room again. Two
// iterations are walked; the second one, which begins with what the first leaves, is the answer. nullopt: what one
// kernel needs does not fit into a pool.
std::optional<std::vector<Action>> belady_swaps(const Profile& profile, const MemoryDivision& division);

}  // namespace uvmsim
