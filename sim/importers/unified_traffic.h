// What moved of unified memory in a profiled run, and whether memory was short there.
#pragma once

#include <cstdint>
#include <string>

namespace uvmsim {

struct UnifiedTraffic {
  std::uint64_t in = 0, out = 0, evicted = 0;  // bytes; those evicted are among those that went out

  // Behind the bytes that came in.
  std::string verdict() const {
    return "B of unified memory came in where it was recorded, " + std::to_string(out) + " B left and " +
           std::to_string(evicted) + " B of these were evicted: the GPU's memory was " +
           (evicted == 0 ? "enough" : "oversubscribed");
  }
};

}  // namespace uvmsim
