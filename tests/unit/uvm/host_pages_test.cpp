// Hosts whose pages are 64 KiB: what the driver moves, maps, counts and pays for at once is 16 of the GPU's 4 KiB
// pages.
#include "uvm/host_pages.h"

#include <gtest/gtest.h>
#include <random>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

Machine host_of(Bytes page_size, Bytes gpu_memory = 16_MiB) {
  Machine machine = small_machine(gpu_memory);
  machine.host.page_size = page_size;
  return machine;
}

Machine without_prefetch(Machine machine) {
  machine.driver.uvm_perf_prefetch_enable = false;
  return machine;
}

TEST(HostPages, Of64KiBAreAlignedGroupsOf16) {
  const HostPages host(64_KiB);
  EXPECT_EQ(host.around(37), (PageRegion{32, 48}));
  EXPECT_EQ(host.first(PageNumber{37}), PageNumber{32});
  EXPECT_EQ(host.next(PageNumber{32}), PageNumber{32});
  EXPECT_EQ(host.next(PageNumber{33}), PageNumber{48});
  EXPECT_EQ(host.outwards(pages(15, 17) | pages(511, 512)), pages(0, 32) | pages(496, 512));
  EXPECT_EQ(host.inwards(pages(15, 33)), pages(16, 32));
  EXPECT_EQ(host.firsts(pages(16, 48)), pages(16, 17) | pages(32, 33));
  EXPECT_EQ(host.count(PageMask::all()), 32);
}

TEST(HostPages, Of4KiBAreThePages) {
  const HostPages host(4_KiB);
  const PageMask some = pages(3, 5) | pages(100, 300);
  EXPECT_EQ(host.outwards(some), some);
  EXPECT_EQ(host.inwards(some), some);
  EXPECT_EQ(host.firsts(some), some);
  EXPECT_EQ(host.count(some), 202);
}

// The GPU names 4 KiB; the driver aligns the address down to its own page and serves that.
TEST(LargeHostPages, OneFaultBringsAllOfOne) {
  Driver small(without_prefetch(host_of(4_KiB)));
  small.read(21);
  EXPECT_EQ(small.on_gpu(0), pages(21, 22));
  Driver large(without_prefetch(host_of(64_KiB)));
  large.read(21);
  EXPECT_EQ(large.on_gpu(0), pages(16, 32));
  large.driver.audit();
}

// 16 faults of one uTLB on the 16 pages of 4 KiB: 16 representatives there, one with 16 instances here.
TEST(LargeHostPages, FaultsOnOneAreDuplicates) {
  for (const auto& [size, representatives] : {std::pair(4_KiB, 16u), {64_KiB, 1u}}) {
    Driver d(host_of(size));
    std::vector<FaultEntry> entries;
    for (std::uint32_t page = 0; page < 16; ++page) entries.push_back({PageNumber{page}, AccessType::Read, 0});
    const FaultBatch& batch = d.driver.fetch(GpuIndex{0}, d.space, entries);
    EXPECT_EQ(batch.faults.size(), representatives);
    EXPECT_EQ(batch.duplicates, 16 - representatives);
  }
}

// Leaves of 64 KiB at 51 %: pages 0 and 1 come alone, with page 2 three of four are there and the fourth comes, and so
// on: 6 faults fill 2 MiB. With leaves of 4 KiB that grow to 64 KiB it is the same.
TEST(LargeHostPages, TheDensityTreeHasThemAsLeaves) {
  for (const Bytes size : {4_KiB, 64_KiB}) {
    Driver d(host_of(size));
    int faults = 0;
    for (std::uint32_t page = 0; page < 512; page = d.on_gpu(0).next_clear(page), ++faults) d.read(page);
    EXPECT_EQ(faults, 6);
    Driver host(host_of(size));
    EXPECT_EQ(host.cpu_touch(0, 512), 6);
  }
}

// Above the big page the trees are one: whatever faults, both bring the same, since the small one grows what faulted.
TEST(LargeHostPages, TheDensityTreeIsTheSameAbove64KiB) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Machine small = host_of(4_KiB), large = host_of(64_KiB);
    small.driver.uvm_perf_prefetch_threshold = large.driver.uvm_perf_prefetch_threshold =
        static_cast<int>(random() % 100);
    const Bytes size{static_cast<std::int64_t>(1 + random() % 32) * 65536};
    Driver a(small, size), b(large, size);
    for (int n = 0; n < 8; ++n) {
      const PageNumber page{static_cast<std::uint32_t>(random() % static_cast<std::uint32_t>(size.value / kPageBytes))};
      if (a.on_gpu(0).test(page.value)) continue;
      a.read(page);
      b.read(page);
      ASSERT_EQ(a.on_gpu(0), b.on_gpu(0)) << "trial " << trial;
    }
  }
}

// uvm_perf_prefetch_min_faults counts the driver's pages: two faults inside one of 64 KiB are one.
TEST(LargeHostPages, AreWhatPrefetchingCounts) {
  const auto brought = [](Bytes size) {
    Machine machine = host_of(size);
    machine.driver.uvm_perf_prefetch_min_faults = 2;
    machine.driver.uvm_perf_prefetch_threshold = 1;
    Driver d(machine);
    d.fault(0, {0, 1});
    return d.on_gpu(0).count();
  };
  EXPECT_EQ(brought(4_KiB), 512);
  EXPECT_EQ(brought(64_KiB), 16);
}

// 2 MiB that the host has written go to the GPU by cudaMemPrefetchAsync: one run, 512 pages or 32, at 1 us for the run
// and 1 us for each page of each kind. Before 530 each page is a method of the push, and unmapping it is what a fault
// pays.
TEST(LargeHostPages, AreWhatIsPaidFor) {
  const auto cost = [](Bytes size, Duration DriverCosts::*step, const char* version = "520") {
    Machine machine = host_of(size);
    machine.gpus[GpuIndex{0}].driver_costs.*step = microseconds(1);
    machine.driver.version = version;
    Driver d(machine);
    d.cpu_touch(0, 512);
    return d.driver.migrate(d.space, kManagedBase, 2_MiB, ProcessorId::gpu(GpuIndex{0}))->next()->cpu;
  };
  EXPECT_EQ(cost(4_KiB, &DriverCosts::cpu_unmap_page), microseconds(512));
  EXPECT_EQ(cost(64_KiB, &DriverCosts::cpu_unmap_page), microseconds(32));
  EXPECT_EQ(cost(4_KiB, &DriverCosts::migrate_page), Duration{0});
  EXPECT_EQ(cost(4_KiB, &DriverCosts::migrate_page, "535"), microseconds(512));
  EXPECT_EQ(cost(64_KiB, &DriverCosts::migrate_page, "535"), microseconds(32));
  EXPECT_EQ(cost(4_KiB, &DriverCosts::cpu_unmap_page, "535"), Duration{0});
  EXPECT_EQ(cost(4_KiB, &DriverCosts::copy_method), microseconds(512));
  EXPECT_EQ(cost(64_KiB, &DriverCosts::copy_method), microseconds(32));
  EXPECT_EQ(cost(64_KiB, &DriverCosts::cpu_unmap_run), microseconds(1));
  EXPECT_EQ(cost(64_KiB, &DriverCosts::copy_run), microseconds(1));
}

// A fault takes one page of 64 KiB from the CPU, and pays more for it than cudaMemPrefetchAsync does.
TEST(LargeHostPages, AreWhatAFaultUnmaps) {
  Machine machine = without_prefetch(host_of(64_KiB));
  machine.gpus[GpuIndex{0}].driver_costs.cpu_unmap_page = microseconds(3);
  machine.gpus[GpuIndex{0}].driver_costs.migrate_page = microseconds(1);
  Driver d(machine);
  d.cpu_touch(0, 512);
  EXPECT_EQ(d.read(0).cpu, microseconds(3));
}

// 64 KiB that a fault brings are one page there, and 16 here.
TEST(LargeHostPages, AreWhatIsServiced) {
  for (const auto& [size, serviced] : {std::pair(4_KiB, 16), {64_KiB, 1}}) {
    Machine machine = host_of(size);
    machine.gpus[GpuIndex{0}].driver_costs.serviced_page = microseconds(1);
    EXPECT_EQ(Driver(machine).read(0).cpu, microseconds(serviced));
  }
}

// A fault of the GPU maps one page of 64 KiB that stays on the host: one of the driver's pages.
TEST(LargeHostPages, AreWhatAFaultMaps) {
  Machine machine = without_prefetch(host_of(64_KiB));
  machine.gpus[GpuIndex{0}].driver_costs.map_host_page = microseconds(3);
  Driver d(machine);
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, ProcessorId::cpu());
  EXPECT_EQ(d.read(0).cpu, microseconds(3));
}

// The CPU writes 128 KiB: two pages are allocated and mapped there, not 32.
TEST(LargeHostPages, AreAllocatedAndMappedOnTheHostAtOnce) {
  for (Duration DriverCosts::*step :
       {&DriverCosts::cpu_chunk_page, &DriverCosts::cpu_zero_page, &DriverCosts::cpu_map_page}) {
    Machine machine = without_prefetch(host_of(64_KiB));
    machine.driver.uvm_cpu_chunk_allocation_sizes = kBigPageBytes;
    machine.gpus[GpuIndex{0}].driver_costs.*step = microseconds(1);
    machine.driver.version = "520";  // before 530 each page of the host is a method of the push
    Driver d(machine);
    Duration cpu{};
    for (PageNumber at{};
         (at = d.driver.next_cpu_fault(d.space, at, PageNumber{32}, AccessType::Write)) < PageNumber{32};)
      cpu += d.driver.cpu_fault(d.space, at, AccessType::Write, Time{0}).cpu;
    EXPECT_EQ(cpu, microseconds(2));
    EXPECT_EQ(d.driver.host_bytes(), 128_KiB);
  }
}

// From host memory in pieces of one page to a root chunk: a copy method for each page of the host.
TEST(LargeHostPages, AreCopiedByOneMethodEach) {
  for (const auto& [size, methods] : {std::pair(4_KiB, 512), {64_KiB, 32}}) {
    Machine machine = host_of(size);
    machine.driver.uvm_cpu_chunk_allocation_sizes = size.value;
    Driver d(machine);
    d.cpu_touch(0, 512);
    const auto migration = d.driver.migrate(d.space, kManagedBase, 2_MiB, ProcessorId::gpu(GpuIndex{0}));
    EXPECT_EQ(migration->next()->copies.at(0).methods, methods);
  }
}

// Evicting a chunk whose 17 pages of 4 KiB are two of the host's.
TEST(LargeHostPages, AreWhatEvictionPaysFor) {
  Machine machine = without_prefetch(host_of(64_KiB, 2_MiB));
  machine.gpus[GpuIndex{0}].driver_costs.evict_page = microseconds(1);
  Driver d(machine, 4_MiB);
  d.fault(0, {0, 16});
  const BlockWork& work = d.write(page_in(1, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_EQ(work.evictions[0].cpu, microseconds(2));
  EXPECT_EQ(work.evictions[0].bytes, 128_KiB);
  d.driver.audit();
}

// 4 KiB of cudaMallocManaged are a whole page, and so is what a prefetch or advice of a part of it acts on; only whole
// pages are discarded.
TEST(LargeHostPages, AreWhatCallsActOn) {
  Driver d(host_of(64_KiB), 68_KiB);
  d.driver.migrate(d.space, kManagedBase + 4096, 4_KiB, ProcessorId::gpu(GpuIndex{0}))->next();
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  d.driver.migrate(d.space, kManagedBase + 65536, 4_KiB, ProcessorId::gpu(GpuIndex{0}))->next();
  EXPECT_EQ(d.on_gpu(0), pages(0, 32));
  EXPECT_EQ(d.driver.discard(d.space, kManagedBase, 60_KiB).size(), 0u);
  EXPECT_EQ(d.driver.discard(d.space, kManagedBase + 4096, 124_KiB).at(0).pages, pages(16, 32));
  d.driver.audit();
}

// Read-mostly: the duplicate of one page on two processors is of 64 KiB.
TEST(LargeHostPages, AreDuplicatedWhole) {
  Driver d(without_prefetch(host_of(64_KiB)));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 4_KiB, 1, ProcessorId::gpu(GpuIndex{0}));
  d.read(3);
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  EXPECT_EQ(d.on_cpu(0), PageMask::all());
  d.driver.audit();
}

// A copy engine that touches 4 pages of 4 KiB in two pages of the host faults twice.
TEST(LargeHostPages, AreWhatACopyEngineFaultsOn) {
  Driver d(without_prefetch(host_of(64_KiB)));
  const BlockWork& work =
      d.driver.service_non_replayable(GpuIndex{0}, d.space, FrameIndex{0}, {14, 18}, AccessType::Write, Time{0});
  EXPECT_EQ(work.faults_serviced, 2);
  EXPECT_EQ(d.on_gpu(0), pages(0, 32));
}

}  // namespace
}  // namespace uvmsim
