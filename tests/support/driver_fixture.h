// A small machine and shorthand for driving the UVM driver in tests.
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "uvm/driver.h"

namespace uvmsim::test {

inline constexpr Bytes operator""_MiB(unsigned long long n) { return {static_cast<std::int64_t>(n) << 20}; }
inline constexpr Bytes operator""_KiB(unsigned long long n) { return {static_cast<std::int64_t>(n) << 10}; }

inline constexpr ProcessorId kCpu = ProcessorId::cpu(), kGpu = ProcessorId::gpu(GpuIndex{0});
inline constexpr int kReadMostly = 1, kPreferredLocation = 2, kAccessedBy = 3;  // what UvmDriver::advise takes

// GPUs of `gpu_memory` each, host memory without limit, every cost zero.
inline Machine small_machine(Bytes gpu_memory, int gpus = 1) {
  Machine machine;
  machine.gpus.resize(static_cast<std::size_t>(gpus));
  for (GpuSpec& gpu : machine.gpus) gpu.memory = gpu.usable_memory = gpu_memory;
  return machine;
}

// Joins GPUs `a` and `b` of the machine by NVLink.
inline void add_nvlink(Machine& machine, int a, int b) {
  LinkSpec link;
  link.kind = "nvlink";
  link.from = "gpu" + std::to_string(a);
  link.to = "gpu" + std::to_string(b);
  machine.links.push_back(link);
}

// An index that tests may also give as a plain number.
template <class I>
struct Numbered {
  I index;
  constexpr Numbered(I i) : index(i) {}
  constexpr Numbered(std::integral auto number) : index(static_cast<decltype(I::value)>(number)) {}
  constexpr operator I() const { return index; }
};
using Page = Numbered<PageNumber>;
using Frame = Numbered<FrameIndex>;
using Gpu = Numbered<GpuIndex>;

inline constexpr VirtualAddress block_address(Frame frame) { return address_of(first_page_of(frame)); }
inline constexpr PageNumber page_in(Frame frame, std::uint32_t page) { return first_page_of(frame) + page; }

inline PageMask pages(std::uint32_t first, std::uint32_t outer) { return PageMask::of({first, outer}); }

// A driver with one process, and one managed allocation of `size` from frame 0 on.
struct Driver {
  explicit Driver(const Machine& machine, Bytes size = 2_MiB) : driver(machine), space(driver.create_va_space()) {
    driver.allocate_managed(space, kManagedBase, size);
  }

  // Fetches and services faults on `pages` as one batch; the work of its only block.
  BlockWork& fault(Gpu gpu, const std::vector<Page>& pages, AccessType access = AccessType::Read, Time now = Time{0}) {
    std::vector<FaultEntry> entries;
    for (const Page page : pages) entries.push_back({page, access, 0});
    FaultBatch& batch = driver.fetch(gpu, space, entries);
    return driver.service(batch, 0, now);
  }
  BlockWork& read(Page page, Gpu gpu = 0) { return fault(gpu, {page}, AccessType::Read); }
  BlockWork& write(Page page, Gpu gpu = 0) { return fault(gpu, {page}, AccessType::Write); }

  // Touches pages [first, outer) from the CPU one after the other, as an initialising loop does.
  int cpu_touch(Page first, Page outer, AccessType access = AccessType::Write) {
    int faults = 0;
    for (PageNumber at = first; (at = driver.next_cpu_fault(space, at, outer, access)) < outer; ++faults)
      driver.cpu_fault(space, at, access, Time{0});
    return faults;
  }

  PageMask on_gpu(Frame frame, Gpu gpu = 0) { return driver.resident(space, frame, ProcessorId::gpu(gpu)); }
  PageMask on_cpu(Frame frame) { return driver.resident(space, frame, ProcessorId::cpu()); }

  UvmDriver driver;
  int space;
};

// Sum over the copies of `work` in one direction.
inline Bytes copied(const std::vector<BlockCopy>& copies, ProcessorId from, ProcessorId to) {
  Bytes sum{};
  for (const BlockCopy& copy : copies)
    if (copy.from == from && copy.to == to) sum += copy.bytes;
  return sum;
}

}  // namespace uvmsim::test
