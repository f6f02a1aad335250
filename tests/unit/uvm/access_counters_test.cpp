// Delayed migration by access counters (driver specification, section 7).
#include "uvm/access_counters.h"

#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

Machine counting_machine(Bytes gpu_memory = 16_MiB) {
  Machine machine = small_machine(gpu_memory);
  machine.gpus[GpuIndex{0}].architecture = "volta";
  machine.driver.uvm_perf_access_counter_migration_enable = 1;
  return machine;
}

// The host has written 4 MiB and the GPU maps them where they are.
struct Counted : Driver {
  explicit Counted(const Machine& machine = counting_machine()) : Driver(machine, 4_MiB) {
    cpu_touch(0, 1024);
    driver.advise(space, kManagedBase, 4_MiB, kAccessedBy, ProcessorId::gpu(GpuIndex{0}));
  }
  void access(Frame frame, const PageMask& pages, std::int64_t times) {
    driver.count_accesses(GpuIndex{0}, space, frame, pages, times);
  }
  // What the driver moves for all notifications there are.
  BlockWork service() {
    BlockWork all;
    while (driver.notified(GpuIndex{0}))
      for (const AccessNotification& notification : driver.fetch_notifications(GpuIndex{0})) {
        const BlockWork& work = driver.service(GpuIndex{0}, notification, Time{0});
        all.copies.insert(all.copies.end(), work.copies.begin(), work.copies.end());
        all.map.insert(all.map.end(), work.map.begin(), work.map.end());
      }
    driver.audit();
    return all;
  }
};

// 255 accesses leave the page on the host; the 256th moves the 64 KiB that were touched, all of it unasked for by
// faults.
TEST(AccessCounters, MigrateAtTheThresholdAndNotBelow) {
  Counted d;
  d.access(0, pages(5, 6), 255);
  EXPECT_FALSE(d.driver.notified(GpuIndex{0}));
  d.access(0, pages(5, 6), 1);
  ASSERT_TRUE(d.driver.notified(GpuIndex{0}));
  const BlockWork work = d.service();
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  EXPECT_EQ(copied(work.copies, ProcessorId::cpu(), ProcessorId::gpu(GpuIndex{0})), 64_KiB);
  EXPECT_EQ(work.copies.at(0).prefetch_bytes, 64_KiB);
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_EQ(work.map[0].pages, pages(0, 16));
  EXPECT_FALSE(work.map[0].remote);
}

// Two places of a block, 128 accesses each: together they reach a counter of 2 MiB, but none of 64 KiB.
TEST(AccessCounters, AddUpWithinTheirGranularity) {
  const auto migrated = [](Bytes granularity) {
    Machine machine = counting_machine();
    machine.driver.uvm_perf_access_counter_granularity = granularity;
    Counted d(machine);
    d.access(0, pages(0, 1) | pages(256, 257), 128);
    d.service();
    return d.on_gpu(0);
  };
  EXPECT_EQ(migrated(2_MiB), pages(0, 16) | pages(256, 272));
  EXPECT_TRUE(migrated(64_KiB).none());
}

TEST(AccessCounters, NotifyOnceUntilTheyAreCleared) {
  Counted d;
  d.access(0, pages(0, 16), 1000);
  d.access(0, pages(0, 16), 1000);
  EXPECT_EQ(d.driver.fetch_notifications(GpuIndex{0}).size(), 1u);
  EXPECT_FALSE(d.driver.notified(GpuIndex{0}));
  d.access(0, pages(0, 1), 255);
  EXPECT_FALSE(d.driver.notified(GpuIndex{0})) << "counts from zero again";
}

TEST(AccessCounters, AreFetchedByAddressInBatches) {
  Machine machine = counting_machine();
  machine.driver.uvm_perf_access_counter_batch_count = 2;
  Driver d(machine, 6_MiB);
  for (const std::uint32_t frame : {2u, 1u, 0u})
    d.driver.count_accesses(GpuIndex{0}, d.space, FrameIndex{frame}, pages(0, 1), 256);
  const auto first = d.driver.fetch_notifications(GpuIndex{0}), second = d.driver.fetch_notifications(GpuIndex{0});
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].frame, FrameIndex{1});
  EXPECT_EQ(first[1].frame, FrameIndex{2});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].frame, FrameIndex{0});
}

// A preferred location the GPU can reach keeps its pages; the counter is cleared all the same.
TEST(AccessCounters, LeavePagesAtTheirPreferredLocation) {
  Counted d;
  d.driver.advise(d.space, kManagedBase, 4_MiB, kPreferredLocation, ProcessorId::cpu());
  d.access(0, pages(0, 16), 256);
  d.service();
  EXPECT_TRUE(d.on_gpu(0).none());
}

// Host memory in chunks of 4 KiB: a page, not 64 KiB, is what the notification names.
TEST(AccessCounters, MoveAPageWhereTheHostHasNo2MiBChunk) {
  Machine machine = counting_machine();
  machine.driver.uvm_cpu_chunk_allocation_sizes = 0x1000;
  machine.driver.uvm_perf_prefetch_enable = false;
  Counted d(machine);
  d.access(0, pages(20, 24), 256);
  d.service();
  EXPECT_EQ(d.on_gpu(0), pages(16, 17));
}

// Drivers before 550 look up by physical addresses what a notification names, and move all of it.
TEST(AccessCounters, MoveAllThatIsNamedBeforeDriver550) {
  Machine machine = counting_machine();
  machine.driver.version = "535.43.02";
  machine.driver.uvm_cpu_chunk_allocation_sizes = 0x1000;
  machine.driver.uvm_perf_prefetch_enable = false;
  Counted d(machine);
  d.access(0, pages(20, 24) | pages(100, 101), 256);
  d.service();
  EXPECT_EQ(d.on_gpu(0), pages(16, 32) | pages(96, 112));
}

// What moves costs a service of its block, and more; what stays no more than finding that out.
TEST(AccessCounters, PagesThatStayCostFindingThem) {
  Machine machine = counting_machine();
  machine.gpus[GpuIndex{0}].driver_costs.block = microseconds(8);
  machine.gpus[GpuIndex{0}].driver_costs.stale_block = microseconds(1);
  const auto cost = [&](bool preferred) {
    Counted d(machine);
    if (preferred) d.driver.advise(d.space, kManagedBase, 4_MiB, kPreferredLocation, ProcessorId::cpu());
    d.access(0, pages(0, 16), 256);
    return d.driver.service(GpuIndex{0}, d.driver.fetch_notifications(GpuIndex{0}).at(0), Time{0}).cpu;
  };
  EXPECT_GE(cost(false), microseconds(8));
  EXPECT_EQ(cost(true), microseconds(1));
}

TEST(AccessCounters, AreOffByDefaultAndPascalHasNone) {
  for (const int enable : {-1, 0, 1}) {
    Machine machine = counting_machine();
    machine.driver.uvm_perf_access_counter_migration_enable = enable;
    EXPECT_EQ(Counted(machine).driver.counts_accesses(GpuIndex{0}), enable == 1);
    machine.gpus[GpuIndex{0}].architecture = "pascal";
    EXPECT_FALSE(Counted(machine).driver.counts_accesses(GpuIndex{0}));
  }
  EXPECT_EQ(DriverConfig{}.uvm_perf_access_counter_migration_enable, -1);
}

// A third block on a GPU with room for two: the first block's pages stay mapped, on the host, unless told otherwise or
// unless nothing would bring them back.
TEST(AccessCounters, KeepEvictedPagesMapped) {
  const auto mapped_after_eviction = [](int enable, bool map) {
    Machine machine = counting_machine(4_MiB);
    machine.driver.uvm_perf_access_counter_migration_enable = enable;
    machine.driver.uvm_perf_map_remote_on_eviction = map;
    Driver d(machine, 6_MiB);
    for (std::uint32_t frame = 0; frame < 2; ++frame) d.write(page_in(frame, 0));
    const BlockWork& work = d.write(page_in(2, 0));
    d.driver.audit();
    PageMask mapped;
    for (const EvictionWork& eviction : work.evictions)
      for (const PageTableWrite& write : eviction.unmap)
        if (write.permission == PageTableWrite::Permission::ReadWrite && write.remote) mapped |= write.pages;
    return mapped;
  };
  EXPECT_EQ(mapped_after_eviction(1, true), pages(0, 16));
  EXPECT_TRUE(mapped_after_eviction(1, false).none());
  EXPECT_TRUE(mapped_after_eviction(-1, true).none());
}

// Nothing but the running operation's own chunk is there: the pages stay where they are, and the run goes on.
TEST(AccessCounters, NeverRunOutOfMemory) {
  Counted d(counting_machine(4_MiB));
  ASSERT_TRUE(d.driver.allocate_device(GpuIndex{0}, 4_MiB).has_value());
  d.access(0, pages(0, 16), 256);
  for (const AccessNotification& notification : d.driver.fetch_notifications(GpuIndex{0}))
    EXPECT_FALSE(d.driver.service(GpuIndex{0}, notification, Time{0}).out_of_memory);
  EXPECT_TRUE(d.on_gpu(0).none());
  d.driver.audit();
}

}  // namespace
}  // namespace uvmsim
