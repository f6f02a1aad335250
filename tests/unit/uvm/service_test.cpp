// What one service costs and counts (driver specification, sections 2.4, 2.7, 6.2, 6.3), and dead bytes.
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// A fault on page 0 of a block the CPU initialised, at threshold 51, moves 16 pages:
//   block 10 + new_chunk 31 + one unmapped run 4.5 + 16 pages unmapped x 0.2 + 2 runs x 0.5, a method each, x 0.1 us
//   = 49.9 us
// Drivers before 530 have the host's memory in pages: 16 methods, 1.4 us more.
TEST(Cost, OfMovingAFirst64KiB) {
  Machine machine = small_machine(16_MiB);
  DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  costs.block = microseconds(10);
  costs.new_chunk = microseconds(31);
  costs.cpu_unmap_run = nanoseconds(4500);
  costs.cpu_unmap_page = nanoseconds(200);
  costs.copy_run = nanoseconds(500);
  costs.copy_method = nanoseconds(100);
  costs.stale_block = nanoseconds(900);
  Driver d(machine);
  d.cpu_touch(0, 512);
  EXPECT_EQ(d.read(0).cpu, nanoseconds(49900));
  EXPECT_EQ(d.read(0).cpu, nanoseconds(900)) << "a block with stale faults only";

  machine.driver.version = "520";
  Driver old(machine);
  old.cpu_touch(0, 512);
  EXPECT_EQ(old.read(0).cpu, nanoseconds(51300));
}

// First touch: 16 pages populated without a copy, x 0.02 us, and the new chunk.
TEST(Cost, OfPopulatingWithoutACopy) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.populate_page = nanoseconds(20);
  machine.gpus[GpuIndex{0}].driver_costs.new_chunk = microseconds(3);
  Driver d(machine);
  EXPECT_EQ(d.write(0).cpu, nanoseconds(3320));
  EXPECT_EQ(d.write(100).cpu, nanoseconds(320));
}

// What is prefetched is a region of the density tree, and the driver decides on the permissions of each page of it,
// moved or not: 64 KiB; then 128 KiB of which half is there; then, with 48 of 64 pages, 256 KiB.
TEST(Cost, OfPagesThatAreServicedButThere) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.serviced_page = microseconds(1);
  Driver d(machine);
  d.cpu_touch(0, 512);
  EXPECT_EQ(d.read(0).cpu, microseconds(16));
  EXPECT_EQ(d.read(16).cpu, microseconds(32));
  EXPECT_EQ(d.read(32).cpu, microseconds(64));
  EXPECT_EQ(d.read(32).cpu, Duration{0}) << "stale";
}

// Faults of the GPU on pages that advice keeps on the host: 3 us for each, mapped where it is. The CPU's own entries,
// and those that advice writes, take none of it.
TEST(Cost, OfMappingPagesOfTheHost) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.map_host_page = microseconds(3);
  Driver d(machine);
  EXPECT_EQ(d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0}).cpu, Duration{});
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, ProcessorId::cpu());
  EXPECT_EQ(d.fault(0, {0, 1}).cpu, microseconds(6));
  EXPECT_EQ(d.read(1).cpu, Duration{}) << "mapped already";
  EXPECT_EQ(d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, ProcessorId::gpu(GpuIndex{0})).front().cpu,
            Duration{});
}

// First CPU touch: the fault 3 us, a 2 MiB host chunk 512 x (0.02 + 0.08), 16 populated x 0.02, 16 entries x 0.05 us.
TEST(Cost, OfACpuFault) {
  Machine machine = small_machine(16_MiB);
  DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  costs.cpu_fault = microseconds(3);
  costs.cpu_chunk_page = nanoseconds(20);
  costs.cpu_zero_page = nanoseconds(80);
  costs.populate_page = nanoseconds(20);
  costs.cpu_map_page = nanoseconds(50);
  Driver d(machine);
  EXPECT_EQ(d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0}).cpu,
            nanoseconds(3000 + 51200 + 320 + 800));
  EXPECT_EQ(d.driver.cpu_fault(d.space, PageNumber{16}, AccessType::Write, Time{0}).cpu, nanoseconds(3000 + 320 + 800));
}

// Chunks of 64 KiB, 1 us a page zeroed. Of the first one page is on the GPU and 15 are nowhere: 16 us. All of the
// second is on the GPU: what comes from there overwrites it.
TEST(Cost, OfHostMemoryHasZeroingWhereAChunkIsNotAllSomewhere) {
  Machine machine = small_machine(16_MiB);
  machine.driver.uvm_perf_prefetch_enable = false;
  machine.driver.uvm_cpu_chunk_allocation_sizes = kBigPageBytes;
  machine.gpus[GpuIndex{0}].driver_costs.cpu_zero_page = microseconds(1);
  Driver d(machine);
  d.write(0);
  for (std::uint32_t page = 16; page < 32; ++page) d.write(page);
  EXPECT_EQ(d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Read, Time{0}).cpu, microseconds(16));
  EXPECT_EQ(d.driver.cpu_fault(d.space, PageNumber{16}, AccessType::Read, Time{0}).cpu, Duration{});
}

// A fault in the middle of its 64 KiB page: prefetched, faulted, prefetched are three runs.
TEST(Copies, AFaultInsideItsBigPageMakesThreeRuns) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  const BlockWork& work = d.read(5);
  ASSERT_EQ(work.copies.size(), 1u);
  EXPECT_EQ(work.copies[0].copies, 3);
  EXPECT_EQ(work.copies[0].methods, 3);
  EXPECT_EQ(work.copies[0].prefetch_bytes, 60_KiB);
  EXPECT_EQ(work.prefetched, 60_KiB);
}

// One batch with pages 0, 1 and 40 of a block: two 64 KiB pages of [0, 64) are dense, 32/64 is not: 2 runs faulted
// ([0,2), [40,41)) and 3 prefetched ([2,16), [32,40), [41,48)).
TEST(Copies, RunsOfABatch) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  const BlockWork& work = d.fault(0, {0, 1, 40});
  EXPECT_EQ(work.faults_serviced, 3);
  EXPECT_EQ(d.on_gpu(0), pages(0, 16) | pages(32, 48));
  EXPECT_EQ(work.copies[0].copies, 5);
}

// With prefetching off, or too few faults towards the GPU, single pages move.
TEST(Prefetch, CanBeSwitchedOffAndNeedsItsMinimumOfFaults) {
  Machine off = small_machine(16_MiB);
  off.driver.uvm_perf_prefetch_enable = false;
  EXPECT_EQ(Driver(off).write(0).populated, 4_KiB);
  Machine none = small_machine(16_MiB);
  none.driver.prefetch_policy = "none";
  EXPECT_EQ(Driver(none).write(0).populated, 4_KiB);
  Machine patient = small_machine(16_MiB);
  patient.driver.uvm_perf_prefetch_min_faults = 3;
  Driver d(patient);
  EXPECT_EQ(d.write(0).populated, 4_KiB);
  EXPECT_EQ(d.write(100).populated, 4_KiB);
  EXPECT_EQ(d.write(200).populated, 64_KiB) << "the third fault towards the GPU";
  d.driver.cpu_fault(d.space, PageNumber{200}, AccessType::Read, Time{0});
  EXPECT_EQ(d.write(300).populated, 4_KiB) << "the destination changed in between: counted anew";
}

// A service that is executed again after an eviction counts its faults once: 1 of the 2 that prefetching needs.
TEST(Prefetch, RestartedServicesCountOnce) {
  Machine machine = small_machine(2_MiB);
  machine.driver.uvm_perf_prefetch_min_faults = 2;
  Driver d(machine, 4_MiB);
  d.write(page_in(0, 0));
  const BlockWork& work = d.write(page_in(1, 0));
  EXPECT_EQ(work.evictions.size(), 1u);
  EXPECT_EQ(work.populated, 4_KiB);
}

// A copy engine reads pages [0, 64) of a block one fault at a time: 16, 16, 32 pages, as the tree grows.
TEST(NonReplayable, PagesAreServicedOneByOneWithPrefetch) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.block = microseconds(1);
  Driver d(machine);
  d.cpu_touch(0, 512);
  const BlockWork& work =
      d.driver.service_non_replayable(GpuIndex{0}, d.space, FrameIndex{0}, {0, 64}, AccessType::Read, Time{0});
  EXPECT_EQ(work.faults_serviced, 3);
  EXPECT_EQ(work.cpu, microseconds(3));
  EXPECT_EQ(work.copies.size(), 3u);
  EXPECT_EQ(copied(work.copies, kCpu, kGpu), 256_KiB);
  EXPECT_EQ(work.copies[0].cause, MakeResidentCause::NonReplayableFault);
  d.driver.audit();
}

TEST(CpuAccess, IsFoundPageByPage) {
  Driver d(small_machine(16_MiB), 4_MiB);
  EXPECT_EQ(d.driver.next_cpu_fault(d.space, PageNumber{0}, PageNumber{1024}, AccessType::Read), PageNumber{0});
  d.cpu_touch(0, 512);
  EXPECT_EQ(d.driver.next_cpu_fault(d.space, PageNumber{0}, PageNumber{1024}, AccessType::Write), PageNumber{512});
  EXPECT_EQ(d.driver.next_cpu_fault(d.space, PageNumber{10}, PageNumber{20}, AccessType::Write), PageNumber{20});
  d.read(100);
  EXPECT_EQ(d.driver.next_cpu_fault(d.space, PageNumber{0}, PageNumber{1024}, AccessType::Read), PageNumber{96});
}

// 16 pages are fetched and 8 overwritten before they are read: 32 KiB are dead. The other 8 are read, and what
// happens to them later does not matter.
TEST(DeadBytes, PagesOverwrittenBeforeTheyAreReadWereFetchedForNothing) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.read(0);
  d.driver.note_read(GpuIndex{0}, d.space, kManagedBase, 32_KiB);
  d.driver.note_overwritten(GpuIndex{0}, d.space, kManagedBase, 2_MiB);
  EXPECT_EQ(d.driver.dead_h2d_bytes(GpuIndex{0}), 32_KiB);
  d.driver.note_overwritten(GpuIndex{0}, d.space, kManagedBase, 2_MiB);
  EXPECT_EQ(d.driver.dead_h2d_bytes(GpuIndex{0}), 32_KiB) << "counted once";
  d.driver.audit();
}

// Overwriting 6 000 bytes from byte 100 on covers no page whole but [4096, 6100) of page 1: none is dead.
TEST(DeadBytes, PartlyOverwrittenPagesAreLive) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.read(0);
  d.driver.note_overwritten(GpuIndex{0}, d.space, kManagedBase + 100, {6000});
  EXPECT_EQ(d.driver.dead_h2d_bytes(GpuIndex{0}), Bytes{});
  d.driver.note_overwritten(GpuIndex{0}, d.space, kManagedBase, 64_KiB);
  EXPECT_EQ(d.driver.dead_h2d_bytes(GpuIndex{0}).value, 14 * kPageBytes) << "all but the two pages already used";
}

// Pages populated without a copy cost no transfer, so none is dead.
TEST(DeadBytes, PopulatedPagesAreNotFetched) {
  Driver d(small_machine(16_MiB));
  d.write(0);
  d.driver.note_overwritten(GpuIndex{0}, d.space, kManagedBase, 2_MiB);
  EXPECT_EQ(d.driver.dead_h2d_bytes(GpuIndex{0}), Bytes{});
}

TEST(AddressSpaces, AreSeparate) {
  Driver d(small_machine(16_MiB));
  const int other = d.driver.create_va_space();
  d.driver.allocate_managed(other, kManagedBase, 2_MiB);
  d.write(0);
  EXPECT_TRUE(d.driver.resident(other, FrameIndex{0}, kGpu).none());
  EXPECT_EQ(d.driver.resident_bytes(GpuIndex{0}), 64_KiB);
}

}  // namespace
}  // namespace uvmsim
