// When the host issued what ran on streams, also where no call is recorded.
#pragma once

#include <cstdint>
#include <vector>

namespace uvmsim {

// A kernel, copy or memset. Times in ns.
struct StreamWork {
  std::int64_t device = 0, stream = 0;
  std::int64_t start = 0;    // on the GPU
  std::int64_t issued = -1;  // by the host; -1: no call is recorded
};

// Gives each of `work` a time of issue, so that what shares a stream is issued in the order in which it started: what
// has none follows its predecessor, and what stands before all calls of its stream comes just before the first.
void order_streams(std::vector<StreamWork>& work);

}  // namespace uvmsim
