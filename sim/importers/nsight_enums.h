// What the numbers in the enumerations of an Nsight Systems export mean.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/record.h"

namespace uvmsim {

// ENUM_CUDA_MEM_KIND of the export, which is one less than CUPTI's own. Mapped to a trace's spaces.
inline int space_of(std::int64_t kind) {
  switch (kind) {
    case 0:
      return static_cast<int>(trace::Space::PageableHost);
    case 1:
      return static_cast<int>(trace::Space::PinnedHost);
    case 4:
    case 6:
      return static_cast<int>(trace::Space::Managed);
    case 2:
    case 3:
    case 5:
      return static_cast<int>(trace::Space::Device);
    default:
      return -1;
  }
}

// ENUM_CUDA_MEMCPY_OPER; 11 to 13 are migrations of unified memory, which the simulator makes itself: to the device, to
// the host, between devices.
enum : std::int64_t { kMigrationIn = 11, kMigrationOut = 12, kMigrationBetween = 13 };
// ENUM_CUDA_UNIF_MEM_MIGRATION: what the program asked for (cudaMemPrefetchAsync), and what made room for others.
enum : std::int64_t { kAskedFor = 1, kEviction = 4 };
inline std::optional<trace::CopyDirection> direction_of(std::int64_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return trace::CopyDirection::HostToDevice;
    case 2:
    case 4:
      return trace::CopyDirection::DeviceToHost;
    case 5:
    case 6:
    case 7:
    case 8:
      return trace::CopyDirection::DeviceToDevice;
    case 10:
      return trace::CopyDirection::PeerToPeer;
    default:
      return std::nullopt;
  }
}
inline bool is_migration(std::int64_t kind) { return kind >= kMigrationIn && kind <= kMigrationBetween; }

}  // namespace uvmsim
