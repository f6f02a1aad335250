// Driver memory for allocators, without a program: segments at ascending 2 MiB-aligned addresses.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "memory/allocator.h"

namespace uvmsim {

class FakeUpstream final : public UpstreamMemory {
 public:
  explicit FakeUpstream(std::int64_t capacity = 0) : capacity_(capacity) {}  // 0: unlimited

  std::optional<VirtualAddress> allocate(Bytes size) override {
    if (capacity_ > 0 && reserved_ + size.value > capacity_) return std::nullopt;
    const VirtualAddress address = next_;
    next_ += static_cast<VirtualAddress>((size.value + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    segments_[address] = size.value;
    reserved_ += size.value;
    ++allocations_;
    return address;
  }
  void free(VirtualAddress segment) override {
    const auto found = segments_.find(segment);
    ASSERT_NE(found, segments_.end()) << "not a live segment";
    reserved_ -= found->second;
    segments_.erase(found);
  }

  std::int64_t reserved() const { return reserved_; }
  int allocations() const { return allocations_; }
  // Whether [address, address + bytes) lies inside one live segment.
  bool holds(VirtualAddress address, std::int64_t bytes) const {
    auto after = segments_.upper_bound(address);
    if (after == segments_.begin()) return false;
    const auto& [start, size] = *--after;
    return address + static_cast<VirtualAddress>(bytes) <= start + static_cast<VirtualAddress>(size);
  }

 private:
  std::int64_t capacity_;
  VirtualAddress next_ = kManagedBase;
  std::map<VirtualAddress, std::int64_t> segments_;
  std::int64_t reserved_ = 0;
  int allocations_ = 0;
};

}  // namespace uvmsim
