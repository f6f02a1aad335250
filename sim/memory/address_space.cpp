#include "memory/address_space.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace uvmsim {

Bytes managed_range_size(Bytes asked) {
  const Bytes tail{asked.value % kBlockBytes};
  if (tail.value == 0) return asked;
  const auto big_pages = static_cast<std::uint64_t>((tail.value + kBigPageBytes - 1) / kBigPageBytes);
  return asked - tail + Bytes{static_cast<std::int64_t>(std::bit_ceil(big_pages)) * kBigPageBytes};
}

namespace {

// GPU memory is handed out in root chunks of 2 MiB.
Bytes whole_chunks(Bytes size) { return {(size.value + kBlockBytes - 1) / kBlockBytes * kBlockBytes}; }

}  // namespace

class AddressSpace::Upstream final : public UpstreamMemory {
 public:
  Upstream(AddressSpace& addresses, DeviceOrdinal device, trace::Space space)
      : addresses_(addresses), device_(device), space_(space) {}
  std::optional<VirtualAddress> allocate(Bytes size) override { return addresses_.allocate(size, device_, space_); }
  void free(VirtualAddress segment) override { addresses_.free(segment); }
  VirtualAddress reserve(Bytes size) override {
    UVMSIM_CHECK(space_ == trace::Space::Device, "managed memory is not mapped in parts");
    return addresses_.reserve(size);
  }
  bool map(VirtualAddress address, Bytes size) override { return addresses_.map(address, size, device_); }
  void prefetch(VirtualAddress segment) override { addresses_.prefetch(segment); }
  void synchronize(int stream) override { addresses_.program_.ops.push_back(op::Synchronize{stream}); }
  Bytes gpu_memory() const override { return addresses_.options_.gpu_memory; }
  Bytes available() const override { return addresses_.available(device_); }

 private:
  AddressSpace& addresses_;
  DeviceOrdinal device_;
  trace::Space space_;
};

std::optional<VirtualAddress> AddressSpace::allocate(Bytes size, DeviceOrdinal device, trace::Space space) {
  UVMSIM_CHECK(size.value > 0, "a segment has at least one byte");
  if (space == trace::Space::Device && !take_device_memory(size, device)) return std::nullopt;
  const VirtualAddress address = next_address(space, size);
  hold(address, size, device);
  if (space == trace::Space::Device) {
    program_.ops.push_back(op::MallocDevice{address, size.value, device});
    return address;
  }
  const bool system = space == trace::Space::PageableHost;
  program_.ops.push_back(op::MallocManaged{address, system ? size.value : managed_range_size(size).value, system});
  if (options_.prefetch_on_alloc) program_.ops.push_back(op::Prefetch{address, size.value, device, 0, true});
  return address;
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
    program_.ops.push_back(op::FreeManaged{segment});
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

UpstreamMemory& AddressSpace::upstream(DeviceOrdinal device, trace::Space space) {
  auto& entry = upstreams_[{device, space}];
  if (!entry) entry = std::make_unique<Upstream>(*this, device, space);
  return *entry;
}

VirtualAddress AddressSpace::next_address(trace::Space space, Bytes size) {
  VirtualAddress& next = space == trace::Space::Device ? next_device_ : next_managed_;
  const VirtualAddress address = next;
  const auto blocks = static_cast<VirtualAddress>((size.value + kBlockBytes - 1) / kBlockBytes);
  next += blocks * kBlockBytes;
  UVMSIM_CHECK(space != trace::Space::Device || next <= kManagedBase, "device addresses stay below managed ones");
  return address;
}

}  // namespace uvmsim
