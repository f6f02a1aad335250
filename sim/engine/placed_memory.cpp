#include "engine/placed_memory.h"

#include <algorithm>

namespace uvmsim {

PlacedMemory::PlacedMemory(const AllocatorFactory& allocator, const GpuSpec& gpu, const RuntimeCosts& costs, Host host)
    : options_{.memory = "device", .device_capacity = gpu.usable_memory, .gpu_memory = gpu.memory},
      addresses_(calls_, options_),
      allocator_(allocator.make(addresses_.upstream(DeviceOrdinal{}, trace::Space::Device))),
      costs_(costs),
      host_(std::move(host)) {}

void PlacedMemory::release(const DeviceBlock& block, std::vector<StreamPoint> after, Sync sync) {
  held_ -= block.bytes;
  const bool copied = std::ranges::any_of(
      after, [](const StreamPoint& p) { return !p.reached() && p.event->kind == EventState::Kind::Swap; });
  if (copied || sync != Sync::Stream)
    lots_.push_back({block, std::move(after), sync});
  else
    give_back_early(block, std::move(after));
}

// Before it is free.
void PlacedMemory::give_back_early(const DeviceBlock& block, std::vector<StreamPoint> after) {
  if (!reached(after))
    pending_[block.address] = {block.address + static_cast<VirtualAddress>(block.bytes), std::move(after)};
  give_back(block);
}

void PlacedMemory::give_back(const DeviceBlock& block) {
  allocator_->free(block.address);
  perform_calls();
}

void PlacedMemory::collect() {
  for (std::size_t n = 0; n < lots_.size();) {
    if (!reached(lots_[n].after)) {
      ++n;
      continue;
    }
    const DeviceBlock block = lots_[n].block;
    lots_.erase(lots_.begin() + static_cast<std::ptrdiff_t>(n));
    give_back(block);
  }
}

// What the GPU can wait for; false: nothing.
bool PlacedMemory::collect_early() {
  std::deque<Lot> all = std::exchange(lots_, {});
  for (Lot& lot : all) {
    if (lot.sync == Sync::Stream)
      give_back_early(lot.block, std::move(lot.after));
    else
      lots_.push_back(std::move(lot));
  }
  return lots_.size() < all.size();
}

std::optional<DeviceBlock> PlacedMemory::take(const Request& request, std::vector<StreamPoint>& waits) {
  collect();
  std::optional<VirtualAddress> address;
  do {
    address = allocator_->allocate({.size = Bytes{request.bytes}, .kernels = request.kernels});
    perform_calls();
  } while (!address && collect_early());
  if (!address) return std::nullopt;
  const DeviceBlock block{*address, request.bytes};
  take_over(block, waits);
  held_ += block.bytes;
  peak_ = std::max(peak_, held_);
  if (addresses_.reserved_bytes() > fullest_.reserved_bytes) fullest_ = pool();
  return block;
}

// `block` has a new user, which waits for what used its addresses before.
void PlacedMemory::take_over(const DeviceBlock& block, std::vector<StreamPoint>& waits) {
  const VirtualAddress end = block.address + static_cast<VirtualAddress>(block.bytes);
  auto at = pending_.upper_bound(block.address);
  if (at != pending_.begin() && std::prev(at)->second.end > block.address) --at;
  while (at != pending_.end() && at->first < end) {
    const auto [begin, pending] = *at;
    at = pending_.erase(at);
    for (const StreamPoint& point : pending.after)
      if (!point.reached()) waits.push_back(point);
    if (begin < block.address) pending_[begin] = {block.address, pending.after};
    if (pending.end > end) pending_[end] = pending;
  }
}

// What the allocator asked of the CUDA runtime. cudaFree waits until nothing uses the memory.
void PlacedMemory::perform_calls() {
  for (const Op& op : calls_.ops) {
    if (const auto* m = std::get_if<op::MallocDevice>(&op)) {
      segments_[m->address] = m->bytes;
      host_.spend(costs_.malloc_call + (m->bytes > kBlockBytes ? costs_.malloc_large : Duration{}));
    } else if (const auto* f = std::get_if<op::FreeDevice>(&op)) {
      const DeviceBlock segment{f->address, segments_.extract(f->address).mapped()};
      std::vector<StreamPoint> users;
      take_over(segment, users);
      for (const StreamPoint& point : users) host_.wait(point);
      host_.spend(free_time(costs_, Bytes{segment.bytes}));
    } else {
      for (const auto& [address, pending] : pending_)
        for (const StreamPoint& point : pending.after) host_.wait(point);
    }
  }
  calls_.ops.clear();
}

std::optional<StreamPoint> PlacedMemory::to_wait_for(bool any) const {
  for (const Lot& lot : lots_)
    if (any || (lot.sync != Sync::None && lot.sync != Sync::Stream))
      for (const StreamPoint& point : lot.after)
        if (!point.reached()) return point;
  return std::nullopt;
}

PoolState PlacedMemory::pool() const {
  return with_fragmentation({.live_bytes = held_,
                             .active_bytes = allocator_->active().value,
                             .reserved_bytes = addresses_.reserved_bytes(),
                             .largest_free_bytes = allocator_->largest_free().value});
}

std::optional<DeviceAllocator> PlacedMemory::placed() const {
  return DeviceAllocator{.peak = fullest_,
                         .end = pool(),
                         .driver_allocs = calls_.allocator.segment_allocs,
                         .driver_frees = calls_.allocator.segment_frees,
                         .cache_flushes = allocator_->cache_flushes()};
}

}  // namespace uvmsim
