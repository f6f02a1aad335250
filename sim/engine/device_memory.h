// The bytes of one GPU that tensors under plans do not hold, now or soon: counted, or placed by an allocator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/swap_stream.h"
#include "memory/allocator.h"
#include "plan/plan.h"

namespace uvmsim {

// What a tensor holds of the GPU. `address` only where memory is placed: plans move a tensor from one to another.
struct DeviceBlock {
  VirtualAddress address = 0;
  std::int64_t bytes = 0;
};

// Accounts in the order in which the host issues: a block may be handed out before it is free, together with the points
// of streams after which it is. So no byte is ever used twice, and nothing waits for what is issued later.
class DeviceMemory {
 public:
  struct Request {
    std::int64_t bytes = 0;
    const EventState* own = nullptr;  // of the stream that uses the block first; nullptr: a copy does
    std::int64_t kernels = AllocationRequest::kForever;  // until it leaves again, as far as that is known
  };

  virtual ~DeviceMemory() = default;

  // `block` becomes free once all of `after` are reached; `sync`: of the copy they wait for, Stream for kernels.
  virtual void release(const DeviceBlock& block, std::vector<StreamPoint> after, Sync sync) = 0;

  // A block if there is one that needs no host to wait; `waits` receives what its first user has to wait for.
  virtual std::optional<DeviceBlock> take(const Request& request, std::vector<StreamPoint>& waits) = 0;

  // The oldest release that only a waiting host can use; nullopt: there is none. `any`: also those of Sync::None.
  virtual std::optional<StreamPoint> to_wait_for(bool any) const = 0;

  // Bytes that are taken and not released, in the order of issue; the most there were.
  virtual std::int64_t held() const = 0;
  virtual std::int64_t peak() const = 0;
  // What the allocator did; nullopt: there is none.
  virtual std::optional<DeviceAllocator> placed() const { return std::nullopt; }

 protected:
  static bool reached(const std::vector<StreamPoint>& points) {
    return std::ranges::all_of(points, [](const StreamPoint& p) { return p.reached(); });
  }
};

}  // namespace uvmsim
