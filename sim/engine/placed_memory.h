// Device memory in which an allocator places tensors: where free bytes lie counts, too.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "engine/device_memory.h"
#include "memory/address_space.h"

namespace uvmsim {

// An allocator of memory/allocators on the memory that cudaMalloc has for one GPU. Blocks that kernels free go back to
// the allocator when the host frees them, as frameworks do it: whoever gets their addresses waits on the GPU. Blocks
// that copies free go back when the host finds the copies done, as PyTorch's record_stream has it; those of
// Sync::Stream also, like the others, when the allocator finds no room without them.
class PlacedMemory final : public DeviceMemory {
 public:
  // What the allocator's calls of the driver cost: `wait` blocks the host until a point is reached, `spend` for a time.
  struct Host {
    std::function<void(const StreamPoint&)> wait;
    std::function<void(Duration)> spend;
  };
  PlacedMemory(const AllocatorFactory& allocator, const GpuSpec& gpu, const RuntimeCosts& costs, Host host);

  void release(const DeviceBlock& block, std::vector<StreamPoint> after, Sync sync) override;
  std::optional<DeviceBlock> take(const Request& request, std::vector<StreamPoint>& waits) override;
  std::optional<StreamPoint> to_wait_for(bool any) const override;
  std::int64_t held() const override { return held_; }
  std::int64_t peak() const override { return peak_; }
  std::optional<DeviceAllocator> placed() const override;

 private:
  // Addresses that the allocator may hand out again, to whoever waits for `after`.
  struct Pending {
    VirtualAddress end = 0;
    std::vector<StreamPoint> after;
  };
  struct Lot {  // that copies free
    DeviceBlock block;
    std::vector<StreamPoint> after;
    Sync sync = Sync::None;
  };
  void give_back(const DeviceBlock& block);
  void give_back_early(const DeviceBlock& block, std::vector<StreamPoint> after);
  void collect();
  bool collect_early();
  void take_over(const DeviceBlock& block, std::vector<StreamPoint>& waits);
  void perform_calls();
  PoolState pool() const;

  PlacementOptions options_;
  Program calls_;  // of the allocator, not yet performed
  AddressSpace addresses_;
  std::unique_ptr<Allocator> allocator_;
  RuntimeCosts costs_;
  Host host_;
  std::map<VirtualAddress, Pending> pending_;  // disjoint
  std::map<VirtualAddress, std::int64_t> segments_;
  std::deque<Lot> lots_;  // in the order of their release
  std::int64_t held_ = 0, peak_ = 0;
  PoolState fullest_{};  // when the reserved bytes first were at their highest
};

}  // namespace uvmsim
