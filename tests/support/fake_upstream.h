// Driver memory for allocators, without a program: segments at ascending 2 MiB-aligned addresses.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <vector>

#include "memory/allocator.h"

namespace uvmsim {

class FakeUpstream final : public UpstreamMemory {
 public:
  explicit FakeUpstream(std::int64_t capacity = 0) : capacity_(capacity) {}  // 0: unlimited

  std::optional<VirtualAddress> allocate(Bytes size) override {
    if (capacity_ > 0 && reserved_ + size.value > capacity_) return std::nullopt;
    const VirtualAddress address = reserve(size);
    hold(address, size.value);
    return address;
  }
  VirtualAddress reserve(Bytes size) override {
    const VirtualAddress address = next_;
    next_ += static_cast<VirtualAddress>((size.value + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    return address;
  }
  bool map(VirtualAddress address, Bytes size) override {
    if (capacity_ > 0 && reserved_ + size.value > capacity_) return false;
    hold(address, size.value);
    return true;
  }
  void prefetch(VirtualAddress segment) override { prefetched_.push_back(segment); }
  void synchronize(int stream) override { synchronized_.push_back(stream); }
  Bytes gpu_memory() const override { return {capacity_}; }
  Bytes available() const override { return {capacity_ > 0 ? capacity_ - reserved_ : 0}; }
  void free(VirtualAddress segment) override {
    const auto found = segments_.find(segment);
    ASSERT_NE(found, segments_.end()) << "not a live segment";
    reserved_ -= found->second;
    segments_.erase(found);
    ++frees_;
  }

  std::int64_t reserved() const { return reserved_; }
  int allocations() const { return allocations_; }
  int frees() const { return frees_; }
  const std::vector<VirtualAddress>& prefetched() const { return prefetched_; }
  const std::vector<int>& synchronized() const { return synchronized_; }
  // Whether [address, address + bytes) lies inside live segments without a hole.
  bool holds(VirtualAddress address, std::int64_t bytes) const {
    const VirtualAddress end = address + static_cast<VirtualAddress>(bytes);
    auto at = segments_.upper_bound(address);
    if (at == segments_.begin()) return false;
    for (--at; at != segments_.end() && at->first <= address; ++at)
      if ((address = std::max(address, at->first + static_cast<VirtualAddress>(at->second))) >= end) return true;
    return false;
  }

 private:
  void hold(VirtualAddress address, std::int64_t bytes) {
    segments_[address] = bytes;
    reserved_ += bytes;
    ++allocations_;
  }

  std::int64_t capacity_;
  VirtualAddress next_ = kManagedBase;
  std::map<VirtualAddress, std::int64_t> segments_;
  std::int64_t reserved_ = 0;
  int allocations_ = 0, frees_ = 0;
  std::vector<VirtualAddress> prefetched_;
  std::vector<int> synchronized_;
};

}  // namespace uvmsim
