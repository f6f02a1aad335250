#include "memory/address_space.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace uvmsim {

namespace {

// GPU memory is handed out in root chunks of 2 MiB.
Bytes whole_chunks(Bytes size) { return {(size.value + kBlockBytes - 1) / kBlockBytes * kBlockBytes}; }

}  // namespace

std::optional<VirtualAddress> AddressSpace::Upstream::allocate(Bytes size) {
  const std::optional<VirtualAddress> address = addresses_.allocate(size, device_, space_);
  if (address) held_.insert(*address);
  return address;
}

void AddressSpace::Upstream::free(VirtualAddress segment) {
  held_.erase(segment);
  addresses_.free(segment);
}

VirtualAddress AddressSpace::Upstream::reserve(Bytes size) {
  UVMSIM_CHECK(space_ == trace::Space::Device, "managed memory is not mapped in parts");
  return addresses_.reserve(size);
}

bool AddressSpace::Upstream::map(VirtualAddress address, Bytes size) {
  if (!addresses_.map(address, size, device_)) return false;
  held_.insert(address);
  return true;
}

void AddressSpace::Upstream::synchronize(int stream) { addresses_.program_.ops.push_back(op::Synchronize{stream}); }

void AddressSpace::Upstream::free_all() {
  for (const VirtualAddress segment : std::exchange(held_, {})) addresses_.free(segment);
}

std::optional<VirtualAddress> AddressSpace::allocate(Bytes size, DeviceOrdinal device, trace::Space space) {
  UVMSIM_CHECK(size.value > 0, "a segment has at least one byte");
  if (space == trace::Space::Device && !take_device_memory(size, device)) return std::nullopt;
  if (space == trace::Space::Device) {
    const VirtualAddress address = reserve(size);
    hold(address, size, device);
    program_.ops.push_back(op::MallocDevice{address, size.value, device});
    return address;
  }
  const bool system = space == trace::Space::PageableHost;
  const ManagedRanges::Place place = system ? managed_.allocate_alone(size) : managed_.allocate(size);
  hold(place.address, size, device);
  program_.ops.push_back(op::MallocManaged{place.address, place.new_range.value, system});
  if (options_.prefetch_on_alloc) program_.ops.push_back(op::Prefetch{place.address, size.value, device, 0, true});
  return place.address;
}

bool AddressSpace::map(VirtualAddress address, Bytes size, DeviceOrdinal device) {
  if (!take_device_memory(size, device)) return false;
  hold(address, size, device);
  program_.ops.push_back(op::MallocDevice{address, size.value, device});
  return true;
}

void AddressSpace::prefetch(VirtualAddress segment) {
  const auto& [size, device] = segments_.at(segment);
  if (segment >= kManagedBase && !options_.prefetch_on_alloc)
    program_.ops.push_back(op::Prefetch{segment, size.value, device, 0, true});
}

void AddressSpace::free(VirtualAddress segment) {
  const auto found = segments_.find(segment);
  UVMSIM_CHECK(found != segments_.end(), "only live segments are freed");
  const auto [size, device] = found->second;
  segments_.erase(found);
  reserved_ -= size;
  Usage& usage = usage_.at(device);
  usage.reserved -= size;
  ++usage.frees;
  ++program_.allocator.segment_frees;
  if (segment >= kManagedBase) {
    const ManagedRanges::Freed freed = managed_.free(segment);
    program_.ops.push_back(op::FreeManaged{freed.range, freed.last});
  } else {
    device_bytes_.at(device) -= whole_chunks(size);
    program_.ops.push_back(op::FreeDevice{segment, device});
  }
}

Bytes AddressSpace::available(DeviceOrdinal device) const {
  if (options_.device_capacity.value == 0) return options_.gpu_memory;
  const auto used = device_bytes_.find(device);
  return options_.device_capacity / kBlockBytes * kBlockBytes - (used == device_bytes_.end() ? Bytes{} : used->second);
}

bool AddressSpace::take_device_memory(Bytes size, DeviceOrdinal device) {
  Bytes& used = device_bytes_[device];
  if (options_.device_capacity.value > 0 && used + whole_chunks(size) > options_.device_capacity) return false;
  used += whole_chunks(size);
  return true;
}

void AddressSpace::hold(VirtualAddress address, Bytes size, DeviceOrdinal device) {
  segments_[address] = {size, device};
  reserved_ += size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  Usage& usage = usage_[device];
  usage.reserved += size;
  ++usage.allocs;
  ++program_.allocator.segment_allocs;
}

AddressSpace::Upstream& AddressSpace::upstream(DeviceOrdinal device, trace::Space space) {
  return *upstreams_.emplace_back(std::make_unique<Upstream>(*this, device, space));
}

VirtualAddress AddressSpace::reserve(Bytes size) {
  const VirtualAddress address = next_device_;
  next_device_ += static_cast<VirtualAddress>(whole_chunks(size).value);
  UVMSIM_CHECK(next_device_ <= kManagedBase, "device addresses stay below managed ones");
  return address;
}

}  // namespace uvmsim
