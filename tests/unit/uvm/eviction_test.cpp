// Which chunk goes, what is copied out, and what that costs (driver specification, section 4).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// Which of the frames lost its GPU pages.
std::vector<std::uint32_t> evicted(Driver& d, std::uint32_t frames) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t frame = 0; frame < frames; ++frame)
    if (d.on_gpu(frame).none()) out.push_back(frame);
  return out;
}

// Chunks 0, 1, 2 are filled in this order; a fault that only finds stale entries does not count as a service,
// a service that moves one more page does: 1 is the oldest then.
TEST(Eviction, OrderIsLeastRecentlyServicedNotAccessed) {
  Driver d(small_machine(6_MiB), 8_MiB);
  for (std::uint32_t frame : {0u, 1u, 2u}) d.write(page_in(frame, 0));
  d.write(page_in(0, 100));
  EXPECT_FALSE(d.write(page_in(1, 0)).serviced);
  d.write(page_in(3, 0));
  EXPECT_EQ(evicted(d, 4), std::vector<std::uint32_t>{1});
}

// Block 1 goes back to the CPU as a whole: its chunk is unused, and taken before the older chunk 0.
TEST(Eviction, UnusedChunksGoFirst) {
  Driver d(small_machine(4_MiB), 6_MiB);
  d.write(page_in(0, 0));
  d.write(page_in(1, 0));
  d.cpu_touch(page_in(1, 0), page_in(1, 16));
  ASSERT_TRUE(d.on_gpu(1).none());
  const BlockWork& work = d.write(page_in(2, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_TRUE(work.evictions[0].copies.empty());
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
}

// All resident pages are copied back, written or not; they come back unmapped on the CPU.
TEST(Eviction, CleanPagesAreCopiedBackToo) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.cpu_touch(0, 512);
  d.read(0);
  const BlockWork& work = d.read(page_in(1, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_EQ(copied(work.evictions[0].copies, kGpu, kCpu), 64_KiB);
  EXPECT_EQ(work.evictions[0].copies[0].cause, MakeResidentCause::Eviction);
  EXPECT_EQ(work.evictions[0].bytes, 64_KiB);
  ASSERT_EQ(work.evictions[0].unmap.size(), 1u);
  EXPECT_EQ(work.evictions[0].unmap[0].permission, PageTableWrite::Permission::None);
  EXPECT_TRUE(d.on_cpu(0).full());
  EXPECT_EQ(d.driver.cpu_mapped(d.space, FrameIndex{0}), pages(16, 512));
}

TEST(Eviction, ReadDuplicatedPagesAreDroppedWithoutACopy) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, 1, kCpu);
  d.read(0);
  ASSERT_EQ(d.on_gpu(0) & d.on_cpu(0), pages(0, 16));
  const BlockWork& work = d.read(page_in(1, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_TRUE(work.evictions[0].copies.empty());
  EXPECT_EQ(work.evictions[0].bytes, 64_KiB);
  d.driver.audit();
}

// Discarded pages leave without a copy; the discarded chunk goes before the older used one.
TEST(Eviction, DiscardedPagesAreNotCopiedAndGoFirst) {
  Driver d(small_machine(4_MiB), 6_MiB);
  d.write(page_in(0, 0));
  d.write(page_in(1, 0));
  d.driver.discard(d.space, block_address(1), 2_MiB);
  const BlockWork& work = d.write(page_in(2, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  EXPECT_TRUE(work.evictions[0].copies.empty());
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  EXPECT_TRUE(d.on_gpu(1).none());
  d.driver.audit();
}

// A write after the discard makes the contents matter again: they are copied when they leave.
TEST(Eviction, RewrittenPagesAreNoLongerDiscarded) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.write(page_in(0, 0));
  d.driver.discard(d.space, kManagedBase, 2_MiB);
  EXPECT_TRUE(d.write(page_in(0, 0)).serviced);
  EXPECT_EQ(copied(d.write(page_in(1, 0)).evictions.at(0).copies, kGpu, kCpu), 64_KiB);
}

// Before 580 there is no discard: the pages are copied, in order of service.
TEST(Eviction, OldDriversDoNotDiscard) {
  Machine machine = small_machine(4_MiB);
  machine.driver.version = "575.51.02";
  Driver d(machine, 6_MiB);
  d.write(page_in(0, 0));
  d.write(page_in(1, 0));
  EXPECT_TRUE(d.driver.discard(d.space, block_address(1), 2_MiB).empty());
  d.write(page_in(2, 0));
  EXPECT_TRUE(d.on_gpu(0).none());
}

// The evicted block faults again and takes a chunk from the other: D2H 64 KiB, H2D 64 KiB. Its pages were not
// CPU-mapped, so the move unmaps nothing on the CPU: the whole cost is the new chunk's, 5 us.
TEST(Eviction, PagesThatComeBackSkipTheCpuUnmap) {
  Machine machine = small_machine(2_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.cpu_unmap_run = microseconds(4);
  machine.gpus[GpuIndex{0}].driver_costs.new_chunk = microseconds(5);
  Driver d(machine, 4_MiB);
  d.cpu_touch(0, 1024);
  EXPECT_EQ(d.read(page_in(0, 0)).cpu, microseconds(9));
  EXPECT_EQ(d.read(page_in(1, 0)).cpu, microseconds(9));
  const BlockWork& again = d.read(page_in(0, 0));
  EXPECT_EQ(again.cpu, microseconds(5));
  EXPECT_EQ(copied(again.copies, kCpu, kGpu), 64_KiB);
}

// N = 4 blocks through C = 3 chunks, cyclically: every block misses in every round.
TEST(Eviction, ACyclicScanOverTooManyBlocksMissesEveryTime) {
  Driver d(small_machine(6_MiB), 8_MiB);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t frame = 0; frame < 4; ++frame) {
      const BlockWork& work = d.write(page_in(frame, 0));
      EXPECT_TRUE(work.serviced);
      EXPECT_EQ(work.evictions.size(), round == 0 && frame < 3 ? 0u : 1u);
    }
  d.driver.audit();
}

// Memory fresh from the start is zero. A recycled chunk is cleared once, where nothing is resident anywhere:
// block 1 was never touched, so all 512 pages; block 0 has 16 pages on the CPU, so 496.
TEST(Eviction, RecycledChunksAreClearedOnce) {
  Driver d(small_machine(2_MiB), 4_MiB);
  EXPECT_EQ(d.write(page_in(0, 0)).zeroed, Bytes{});
  EXPECT_EQ(d.write(page_in(1, 0)).zeroed, 2_MiB);
  EXPECT_EQ(d.write(page_in(1, 100)).zeroed, Bytes{});
  EXPECT_EQ(d.write(page_in(0, 0)).zeroed.value, 496 * kPageBytes);
}

// Freed chunks are scrubbed by the resource manager, recycled ones, too.
TEST(Eviction, FreedChunksComeBackZero) {
  Driver d(small_machine(2_MiB), 2_MiB);
  d.driver.allocate_managed(d.space, block_address(1), 2_MiB);
  d.write(page_in(1, 0));
  EXPECT_EQ(d.write(page_in(0, 0)).zeroed, 2_MiB);
  d.driver.free_managed(d.space, block_address(1));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 0);
  const auto writes = d.driver.free_managed(d.space, kManagedBase);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].pages, pages(0, 16));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 1);
  EXPECT_EQ(d.driver.host_bytes(), Bytes{});
  d.driver.allocate_managed(d.space, kManagedBase, 2_MiB);
  EXPECT_EQ(d.write(0).zeroed, Bytes{});
  d.driver.audit();
}

TEST(DeviceMemory, CudaMallocEvictsManagedMemory) {
  Driver d(small_machine(8_MiB), 6_MiB);
  for (std::uint32_t frame : {0u, 1u, 2u}) d.write(page_in(frame, 0));
  const auto evictions = d.driver.allocate_device(GpuIndex{0}, 5_MiB);
  ASSERT_TRUE(evictions.has_value());
  EXPECT_EQ(evictions->size(), 2u) << "3 chunks, of which 1 was free";
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 0);
  EXPECT_EQ(evicted(d, 3), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_FALSE(d.driver.allocate_device(GpuIndex{0}, 4_MiB).has_value());
  d.driver.free_device(GpuIndex{0}, 5_MiB);
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 3);
  d.driver.audit();
}

TEST(DeviceMemory, WithoutOversubscriptionCudaMallocFails) {
  Machine machine = small_machine(2_MiB);
  machine.driver.uvm_global_oversubscription = false;
  Driver d(machine);
  d.write(0);
  EXPECT_FALSE(d.driver.allocate_device(GpuIndex{0}, 2_MiB).has_value());
}

TEST(DeviceMemory, AFaultWithoutAnEvictableChunkIsOutOfMemory) {
  Driver d(small_machine(2_MiB));
  ASSERT_TRUE(d.driver.allocate_device(GpuIndex{0}, 2_MiB).has_value());
  const BlockWork& work = d.write(0);
  EXPECT_TRUE(work.out_of_memory);
  EXPECT_FALSE(work.serviced);
  d.driver.audit();
}

// 3 MiB of host memory: the second 2 MiB chunk does not fit.
TEST(HostMemory, ExceedingItIsReported) {
  Machine machine = small_machine(8_MiB);
  machine.host.memory = 3_MiB;
  Driver d(machine, 4_MiB);
  EXPECT_FALSE(d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0}).host_out_of_memory);
  EXPECT_EQ(d.driver.host_bytes(), 2_MiB) << "the first touch brings a 2 MiB chunk";
  EXPECT_TRUE(d.driver.cpu_fault(d.space, PageNumber{512}, AccessType::Write, Time{0}).host_out_of_memory);
}

// Host memory of evicted blocks is kept when they go back to the GPU.
TEST(HostMemory, EvictionAllocatesOnceAndKeeps) {
  Driver d(small_machine(2_MiB), 4_MiB);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t frame : {0u, 1u}) d.write(page_in(frame, 0));
  EXPECT_EQ(d.driver.host_bytes(), 4_MiB);
  EXPECT_EQ(d.driver.host_peak_bytes(), 4_MiB);
}

// evict_chunk + 16 pages x evict_page + 512 pages of new host memory, zeroed for the 496 that are nowhere: 10 + 1.6 +
// 512 x (0.07 + 0.03) us.
TEST(Eviction, CostOfEvictingAChunk) {
  Machine machine = small_machine(2_MiB);
  DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  costs.evict_chunk = microseconds(10);
  costs.evict_page = nanoseconds(100);
  costs.cpu_chunk_page = nanoseconds(70);
  costs.cpu_zero_page = nanoseconds(30);
  Driver d(machine, 4_MiB);
  d.write(page_in(0, 0));
  EXPECT_EQ(d.write(page_in(1, 0)).evictions.at(0).cpu, nanoseconds(62800));
  EXPECT_EQ(d.write(page_in(0, 0)).evictions.at(0).cpu, nanoseconds(62800));
  EXPECT_EQ(d.write(page_in(1, 0)).evictions.at(0).cpu, nanoseconds(11600)) << "block 0 has host memory now";
}

// What comes to the host has contents: 2 MiB that are all on the GPU get host memory that nobody zeroes. 512 x 0.1 us.
TEST(Eviction, ZeroesNoHostMemoryThatIsOverwrittenWhole) {
  Machine machine = small_machine(2_MiB);
  DriverCosts& costs = machine.gpus[GpuIndex{0}].driver_costs;
  costs.cpu_chunk_page = nanoseconds(100);
  costs.cpu_zero_page = microseconds(1);
  Driver d(machine, 4_MiB);
  for (std::uint32_t page = 0; page < 512; page += 16) d.write(page_in(0, page));
  EXPECT_EQ(d.write(page_in(1, 0)).evictions.at(0).cpu, nanoseconds(51200));
}

}  // namespace
}  // namespace uvmsim
