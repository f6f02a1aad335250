// What an allocator's pool holds against what is in use, event by event, as text: the curve of memory traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/allocator.h"

namespace uvmsim {

struct PoolPoint {
  std::int64_t event = 0;  // from 1: the allocation or free after which it was so
  std::int64_t used_bytes = 0, pool_bytes = 0;
};

// At most `points` of the device's history: of each part of it, the event after which most was in use.
std::vector<PoolPoint> pool_points(const std::vector<PoolSample>& history, int device, std::size_t points);

// A row for each of them: # for what is used, . for the rest of the pool. `out_of_memory`: the event that found no
// memory, which gets a row with an X; 0: none did.
std::string pool_curve(const std::vector<PoolPoint>& points, std::int64_t out_of_memory);

}  // namespace uvmsim
