// Memory from malloc under ATS, and what the driver does about managed memory on such machines.
#include "uvm/system_memory.h"

#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// Volta GPUs on the NVLinks of a POWER9, pages of 64 KiB.
Machine power9(Bytes gpu_memory = 16_MiB, int gpus = 1) {
  Machine machine = small_machine(gpu_memory, gpus);
  machine.host.page_size = 64_KiB;
  for (GpuSpec& gpu : machine.gpus) {
    gpu.architecture = "volta";
    gpu.host_link = "nvlink";
  }
  return machine;
}

// One process with `size` from malloc in the frames from 8 on, and 2 MiB of managed memory in frame 0.
struct Malloc : Driver {
  explicit Malloc(const Machine& machine = power9(), Bytes size = 4_MiB) : Driver(machine) {
    driver.allocate_system(space, block_address(8), size);
  }
  BlockWork& cpu_first_touch(std::uint32_t first, std::uint32_t outer, Frame frame = 8) {
    return driver.cpu_first_touch(space, page_in(frame, first), page_in(frame, outer), Time{0});
  }
};

TEST(Ats, NeedsNvlinkOrC2cToTheHostAndVolta) {
  GpuSpec gpu;
  const auto has = [&](const char* link, const char* architecture) {
    gpu.host_link = link;
    gpu.architecture = architecture;
    return has_ats(gpu);
  };
  EXPECT_TRUE(has("nvlink", "volta"));    // POWER9
  EXPECT_TRUE(has("c2c", "hopper"));      // Grace
  EXPECT_FALSE(has("nvlink", "pascal"));  // POWER8
  EXPECT_FALSE(has("pcie", "hopper"));
}

// The GPU touches 64 KiB first: they are there and the CPU uses them there, without a fault of either from then on.
TEST(SystemMemory, IsPlacedWhereTheGpuTouchesItFirst) {
  Machine machine = power9();
  machine.driver.uvm_perf_prefetch_enable = false;
  Malloc d(machine);
  const BlockWork& work = d.write(page_in(8, 5));
  EXPECT_EQ(d.on_gpu(8), pages(0, 16));
  EXPECT_EQ(work.zeroed, 64_KiB);
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_FALSE(work.map[0].remote);
  EXPECT_TRUE(d.driver.cpu_can_access(d.space, page_in(8, 0), AccessType::Write));
  EXPECT_FALSE(d.driver.cpu_can_access(d.space, page_in(8, 16), AccessType::Write));
  d.driver.audit();
}

// The CPU touches 128 KiB first: the GPU reads and writes them over the link, at once.
TEST(SystemMemory, IsPlacedWhereTheCpuTouchesItFirst) {
  Malloc d;
  const BlockWork& work = d.cpu_first_touch(0, 32);
  EXPECT_EQ(d.on_cpu(8), pages(0, 32));
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_TRUE(work.map[0].remote);
  EXPECT_EQ(work.map[0].pages, pages(0, 32));
  EXPECT_EQ(work.map[0].permission, PageTableWrite::Permission::ReadWrite);
  EXPECT_TRUE(d.write(page_in(8, 3)).copies.empty());
  EXPECT_EQ(d.on_cpu(8), pages(0, 32));
  EXPECT_EQ(d.driver.host_bytes(), 128_KiB);
  d.driver.audit();
}

// Of a touched block the CPU takes what nobody has: the GPU has the first 64 KiB.
TEST(SystemMemory, KeepsItsFirstPlace) {
  Machine machine = power9();
  machine.driver.uvm_perf_prefetch_enable = false;
  Malloc d(machine);
  d.write(page_in(8, 0));
  d.cpu_first_touch(0, 512);
  EXPECT_EQ(d.on_gpu(8), pages(0, 16));
  EXPECT_EQ(d.on_cpu(8), pages(16, 512));
  d.driver.audit();
}

// 545 and later prefetch under ATS: of 64 KiB pages 0, 1 and 2 the third makes three of four. 535 brings what faulted.
TEST(SystemMemory, IsPrefetchedSince545) {
  for (const auto& [version, brought] : {std::pair("535.43.02", 48), {"545.23.06", 64}}) {
    Machine machine = power9();
    machine.driver.version = version;
    Malloc d(machine);
    for (const std::uint32_t page : {0u, 16u, 32u}) d.write(page_in(8, page));
    EXPECT_EQ(d.on_gpu(8).count(), brought) << version;
  }
}

// 4 MiB on a GPU of 2 MiB: the second block's pages are the host's. Nothing is evicted.
TEST(SystemMemory, GoesToTheHostWhenTheGpuIsFull) {
  Malloc d(power9(2_MiB));
  d.write(page_in(8, 0));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 0);
  const BlockWork& work = d.write(page_in(9, 0));
  EXPECT_TRUE(work.evictions.empty());
  EXPECT_FALSE(work.out_of_memory);
  EXPECT_TRUE(d.on_gpu(9).none());
  EXPECT_TRUE(d.on_cpu(9).test(0));
  d.driver.audit();
}

// On by default with ATS. A page of 64 KiB that the GPU has read 256 times, in lines of 128 B, moves to it from 550 on.
TEST(SystemMemory, MovesToTheGpuByAccessCountersSince550) {
  for (const auto& [version, moved] : {std::pair("535.86.05", 0_KiB), {"550.40.07", 64_KiB}}) {
    Machine machine = power9();
    machine.driver.version = version;
    Malloc d(machine);
    d.cpu_first_touch(0, 512);
    ASSERT_TRUE(d.driver.counts_accesses(GpuIndex{0}));
    d.driver.count_accesses(GpuIndex{0}, d.space, FrameIndex{8}, pages(32, 48), 16);
    ASSERT_TRUE(d.driver.notified(GpuIndex{0}));
    const BlockWork& work = d.driver.service(GpuIndex{0}, d.driver.fetch_notifications(GpuIndex{0}).at(0), Time{0});
    EXPECT_EQ(copied(work.copies, kCpu, kGpu), moved) << version;
    EXPECT_TRUE(d.driver.cpu_can_access(d.space, page_in(8, 32), AccessType::Write));
    d.driver.audit();
  }
}

TEST(SystemMemory, MovesByCudaMemPrefetchAsync) {
  Malloc d;
  d.cpu_first_touch(0, 512);
  const auto there = d.driver.migrate(d.space, block_address(8), 2_MiB, kGpu);
  EXPECT_EQ(copied(there->next()->copies, kCpu, kGpu), 2_MiB);
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 7);
  const auto back = d.driver.migrate(d.space, block_address(8), 2_MiB, kCpu);
  EXPECT_EQ(copied(back->next()->copies, kGpu, kCpu), 2_MiB);
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 8);
  d.driver.audit();
}

TEST(SystemMemory, GivesBackWhatItHoldsWhenItIsFreed) {
  Malloc d;
  d.write(page_in(8, 0));
  d.write(page_in(9, 0));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 6);
  EXPECT_FALSE(d.driver.free_managed(d.space, block_address(8)).empty());
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 8);
  EXPECT_EQ(d.driver.resident_bytes(GpuIndex{0}), Bytes{});
  d.driver.audit();
}

// --- managed memory on such machines

// It migrates as everywhere: ATS does not answer for it.
TEST(ManagedUnderAts, FaultsAndMigrates) {
  Malloc d;
  d.cpu_touch(0, 512);
  EXPECT_EQ(copied(d.read(0).copies, kCpu, kGpu), 64_KiB);
  EXPECT_FALSE(d.driver.cpu_can_access(d.space, page_in(0, 0), AccessType::Read));
}

// The CPU reaches GPU memory there: with the GPU as preferred location its fault maps the page where it is, and on a
// machine with PCIe brings it.
TEST(ManagedUnderAts, IsMappedByTheCpuAtItsPreferredLocation) {
  for (const char* link : {"nvlink", "pcie"}) {
    Machine machine = power9();
    machine.gpus[GpuIndex{0}].host_link = link;
    Driver d(machine);
    d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
    d.write(0);
    const bool stays = link == std::string("nvlink");
    d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0});
    EXPECT_EQ(d.on_gpu(0).test(0), stays) << link;
    EXPECT_TRUE(d.driver.cpu_can_access(d.space, PageNumber{0}, AccessType::Write));
    d.driver.audit();
  }
}

// A page that the CPU maps in the GPU's memory moves to the host: its old entry is removed, at a price, and made anew.
TEST(ManagedUnderAts, LosesTheCpusRemoteMappingWhenItMoves) {
  Machine machine = power9();
  machine.gpus[GpuIndex{0}].driver_costs.migrate_page = microseconds(1);
  Driver d(machine);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kCpu);
  d.driver.migrate(d.space, kManagedBase, 2_MiB, kGpu)->next();
  EXPECT_EQ(d.driver.cpu_mapped(d.space, FrameIndex{0}), PageMask::all());
  EXPECT_EQ(d.driver.migrate(d.space, kManagedBase, 2_MiB, kCpu)->next()->cpu, microseconds(32));
  EXPECT_EQ(d.driver.cpu_mapped(d.space, FrameIndex{0}), PageMask::all());
  d.driver.audit();
}

// 16 MiB that the CPU maps, a run in each of 8 blocks: on a fast link one call for each group of four, else one for
// each block. Pass 2 finds nothing mapped. A single block is not worth the call.
TEST(ManagedUnderAts, IsUnmappedFromTheCpuByGroupsOfBlocks) {
  const auto cost = [](const char* link, Bytes size) {
    Machine machine = power9(32_MiB);
    machine.gpus[GpuIndex{0}].host_link = link;
    machine.gpus[GpuIndex{0}].driver_costs.cpu_unmap_run = microseconds(1);
    Driver d(machine, 16_MiB);
    d.cpu_touch(0, 8 * 512);
    const auto migration = d.driver.migrate(d.space, kManagedBase, size, kGpu);
    Duration cpu{};
    while (const BlockWork* work = migration->next()) cpu += work->cpu;
    return cpu;
  };
  EXPECT_EQ(cost("nvlink", 16_MiB), microseconds(2));
  EXPECT_EQ(cost("pcie", 16_MiB), microseconds(8));
  EXPECT_EQ(cost("nvlink", 2_MiB), microseconds(1));
}

// Evicted pages stay mapped over the link, because access counters are on by default and will bring them back; not so
// with pages of 4 KiB and 550 or later, which enables the counters and drops what they tell.
TEST(ManagedUnderAts, CountsAccessesByDefault) {
  EXPECT_TRUE(Driver(power9()).driver.counts_accesses(GpuIndex{0}));
  Machine small_pages = power9();
  small_pages.host.page_size = 4_KiB;
  EXPECT_FALSE(Driver(small_pages).driver.counts_accesses(GpuIndex{0}));
  small_pages.driver.version = "535.86.05";
  EXPECT_TRUE(Driver(small_pages).driver.counts_accesses(GpuIndex{0}));
}

}  // namespace
}  // namespace uvmsim
