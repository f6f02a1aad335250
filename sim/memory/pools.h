// The allocators of one process: frameworks keep one pool per device, another one for memory that CUDA IPC shares, and
// others from a stage of the program on.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string_view>

#include "memory/address_space.h"
#include "memory/allocator.h"

namespace uvmsim {

// What new tensors come from: as the options say, from a stage on as that says.
class StageAllocators {
 public:
  explicit StageAllocators(const PlacementOptions& options);  // which must outlive this object

  trace::Space space() const { return space_; }
  const AllocatorFactory& kind() const { return *kind_; }
  // A phase begins. Whether another stage does.
  bool enter(std::string_view phase);

 private:
  const PlacementOptions& options_;
  const AllocatorStage* stage_ = nullptr;  // nullptr: none of the options' stages yet
  trace::Space space_;
  std::shared_ptr<const AllocatorFactory> kind_;
};

class Pools {
 public:
  struct Pool {
    DeviceOrdinal device{};
    trace::Space space = trace::Space::Managed;
    bool for_ipc = false;
    bool finalized = false;  // of a stage that is over: goes with its last tensor
    AddressSpace::Upstream* upstream = nullptr;
    std::unique_ptr<Allocator> allocator = nullptr;
  };

  // Both must outlive this object.
  Pools(AddressSpace& addresses, const PlacementOptions& options);

  // What tensors of no memory of their own come from.
  trace::Space space() const { return stage_.space(); }
  // Whether an allocator wants to know how long allocations live.
  bool want_lifetimes() const;

  // The pool for such a tensor; with `for_ipc` that of options.ipc_allocator, which is given. Lives until finalized.
  Pool& of(DeviceOrdinal device, trace::Space space, bool for_ipc);
  void free(Pool& pool, VirtualAddress address);
  // A phase begins: the stage of its name, if there is one.
  void enter(std::string_view phase);

  const std::list<Pool>& all() const { return pools_; }
  // Of all there were.
  std::int64_t cache_flushes(DeviceOrdinal device) const;

 private:
  // Gives back what is empty of those that are finalized.
  void collect();

  AddressSpace& addresses_;
  const PlacementOptions& options_;
  StageAllocators stage_;
  std::shared_ptr<const AllocatorFactory> ipc_kind_;
  std::list<Pool> pools_;
  std::map<DeviceOrdinal, std::int64_t> past_flushes_;  // of those that are gone
};

}  // namespace uvmsim
