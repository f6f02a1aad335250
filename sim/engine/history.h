// The order of what happened, as one number: a silent reordering shows in every golden.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace uvmsim {

class History {
 public:
  enum class Event : std::uint8_t { Batch, Block, Eviction, Copy, Replay, Kernel, StreamOperation, CpuFault };

  void note(Event event, GpuIndex gpu, Time at, std::int64_t detail) {
    ++events_;
    mix(static_cast<std::uint64_t>(event) << 8 | static_cast<std::uint64_t>(gpu.value));
    mix(static_cast<std::uint64_t>(at.count()));
    mix(static_cast<std::uint64_t>(detail));
  }
  std::int64_t events() const { return events_; }
  std::uint64_t hash() const { return hash_; }

 private:
  void mix(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3ULL; }  // FNV-1a, by words

  std::int64_t events_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace uvmsim
