// The virtual addresses that cudaMalloc and cudaMallocManaged of one process hand out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "memory/allocator.h"
#include "memory/managed_ranges.h"
#include "memory/program.h"

namespace uvmsim {

// Hands out segments and appends the driver calls to a program. Addresses of VA ranges ascend and are never reused:
// managed memory from kManagedBase, device memory from 2 MiB on, both in steps of 2 MiB.
class AddressSpace {
 public:
  // Both must outlive this object.
  AddressSpace(Program& program, const PlacementOptions& options) : program_(program), options_(options) {}

  // Memory for `device`; `space` is Managed, Device, or PageableHost for memory from malloc. nullopt when cudaMalloc
  // finds device memory exhausted: on each device, options.device_capacity counts whole 2 MiB, as the engine does.
  std::optional<VirtualAddress> allocate(Bytes size, DeviceOrdinal device, trace::Space space);
  void free(VirtualAddress segment);

  // Device addresses without memory, and memory at some of them; false when device memory is exhausted.
  VirtualAddress reserve(Bytes size);
  bool map(VirtualAddress address, Bytes size, DeviceOrdinal device);

  void prefetch(VirtualAddress segment);
  // What cudaMalloc of `device` can still have; the GPU's memory when it is unlimited.
  Bytes available(DeviceOrdinal device) const;

  // The same for one device and space, as one allocator sees it.
  class Upstream;
  // A new one, which lives as long as this object.
  Upstream& upstream(DeviceOrdinal device, trace::Space space);

  // Bytes held from the driver, managed and device, all devices together.
  std::int64_t reserved_bytes() const { return reserved_.value; }
  std::int64_t peak_reserved_bytes() const { return peak_reserved_.value; }

  // The same of one device, and the calls.
  struct Usage {
    Bytes reserved;
    std::int64_t allocs = 0, frees = 0;
  };
  const std::map<DeviceOrdinal, Usage>& usage() const { return usage_; }

 private:
  struct Segment {
    Bytes size;
    DeviceOrdinal device{};
  };

  bool take_device_memory(Bytes size, DeviceOrdinal device);
  void hold(VirtualAddress address, Bytes size, DeviceOrdinal device);

  Program& program_;
  const PlacementOptions& options_;
  ManagedRanges managed_;
  VirtualAddress next_device_ = kBlockBytes;
  std::unordered_map<VirtualAddress, Segment> segments_;
  std::map<DeviceOrdinal, Bytes> device_bytes_;  // of cudaMalloc, in whole 2 MiB
  std::map<DeviceOrdinal, Usage> usage_;
  std::vector<std::unique_ptr<Upstream>> upstreams_;
  Bytes reserved_, peak_reserved_;
};

class AddressSpace::Upstream final : public UpstreamMemory {
 public:
  // `addresses` must outlive this object.
  Upstream(AddressSpace& addresses, DeviceOrdinal device, trace::Space space)
      : addresses_(addresses), device_(device), space_(space) {}
  std::optional<VirtualAddress> allocate(Bytes size) override;
  void free(VirtualAddress segment) override;
  VirtualAddress reserve(Bytes size) override;
  bool map(VirtualAddress address, Bytes size) override;
  void prefetch(VirtualAddress segment) override { addresses_.prefetch(segment); }
  void synchronize(int stream) override;
  Bytes gpu_memory() const override { return addresses_.options_.gpu_memory; }
  Bytes available() const override { return addresses_.available(device_); }

  // All that was taken and not freed goes back to the driver.
  void free_all();

 private:
  AddressSpace& addresses_;
  DeviceOrdinal device_;
  trace::Space space_;
  std::set<VirtualAddress> held_;
};

}  // namespace uvmsim
