// cudaMemAdvise and what faults do afterwards (driver specification, section 8).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;
using Permission = PageTableWrite::Permission;

constexpr ProcessorId kPeer = ProcessorId::gpu(GpuIndex{1});

Machine peers() {
  Machine machine = small_machine(16_MiB, 2);
  add_nvlink(machine, 0, 1);
  return machine;
}

TEST(ReadMostly, AReadCopiesAndBothMapReadOnly) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  const auto works = d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_TRUE(d.driver.cpu_can_access(d.space, PageNumber{0}, AccessType::Read));
  EXPECT_FALSE(d.driver.cpu_can_access(d.space, PageNumber{0}, AccessType::Write));
  const BlockWork& work = d.read(0);
  EXPECT_EQ(copied(work.copies, kCpu, kGpu), 64_KiB);
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_EQ(work.map[0].permission, Permission::Read);
  EXPECT_TRUE(d.on_cpu(0).full());
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  EXPECT_TRUE(d.driver.cpu_can_access(d.space, PageNumber{0}, AccessType::Read)) << "the CPU's mapping stays";
  d.driver.audit();
}

// The GPU's write needs no copy: it holds one. The other copy and the CPU's mapping of it go.
TEST(ReadMostly, AWriteCollapsesToTheWriter) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.read(0);
  const BlockWork& work = d.write(3);
  EXPECT_TRUE(work.serviced);
  EXPECT_TRUE(work.copies.empty());
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_EQ(work.map[0].permission, Permission::ReadWrite);
  EXPECT_EQ(work.map[0].pages, pages(3, 4));
  EXPECT_FALSE(d.on_cpu(0).test(3));
  EXPECT_TRUE(d.on_cpu(0).test(4));
  EXPECT_FALSE(d.driver.cpu_can_access(d.space, PageNumber{3}, AccessType::Read));
  d.driver.audit();
}

// A page that nobody touched before: what is prefetched beside it is mapped read-only, although nobody else holds it
// (compute_new_permission). So each of those pages faults once more on its write. That one's prefetch has the whole 64
// KiB again, what is there already too (compute_prefetch_mask), and duplicates it: nothing moves, but the page that was
// written before is not to be written any more (uvm_va_block_make_resident_read_duplicate).
TEST(ReadMostly, EachWriteTakesTheRightToWriteFromWhatIsPrefetchedWithIt) {
  Driver d(small_machine(16_MiB));
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  const BlockWork first = d.write(0);
  ASSERT_EQ(first.map.size(), 2u);
  EXPECT_EQ(first.map[0].permission, Permission::ReadWrite);
  EXPECT_EQ(first.map[0].pages, pages(0, 1));
  EXPECT_EQ(first.map[1].permission, Permission::Read);
  EXPECT_EQ(first.map[1].pages, pages(1, 16));
  for (std::uint32_t page = 1; page < 16; ++page) {
    const BlockWork again = d.write(page);
    EXPECT_EQ(again.faults_serviced, 1);
    EXPECT_TRUE(again.copies.empty());
    EXPECT_EQ(again.populated, Bytes{});
    ASSERT_EQ(again.unmap.size(), 1u);
    EXPECT_EQ(again.unmap[0].permission, Permission::Read);
    EXPECT_EQ(again.unmap[0].pages, pages(page - 1, page)) << "the page written before";
    ASSERT_EQ(again.map.size(), 1u);
    EXPECT_EQ(again.map[0].pages, pages(page, page + 1));
    EXPECT_EQ(d.write(page).faults_stale, 1) << "writable until the next write";
  }
  EXPECT_EQ(d.write(0).faults_serviced, 1) << "written 15 faults ago";
  d.driver.audit();
}

// Nothing is prefetched, so that nothing is duplicated beside what faults.
TEST(ReadMostly, WithoutPrefetchingAWriteTakesNothing) {
  Machine machine = small_machine(16_MiB);
  machine.driver.uvm_perf_prefetch_enable = false;
  Driver d(machine);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  for (std::uint32_t page = 0; page < 16; ++page) EXPECT_TRUE(d.write(page).unmap.empty());
  for (std::uint32_t page = 0; page < 16; ++page) EXPECT_EQ(d.write(page).faults_stale, 1);
  d.driver.audit();
}

TEST(ReadMostly, ACpuWriteDropsTheGpusCopy) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.read(0);
  const BlockWork& work = d.driver.cpu_fault(d.space, PageNumber{5}, AccessType::Write, Time{0});
  EXPECT_TRUE(work.copies.empty());
  ASSERT_EQ(work.unmap.size(), 1u);
  EXPECT_EQ(work.unmap[0].pages, pages(5, 6));
  EXPECT_FALSE(d.on_gpu(0).test(5));
  EXPECT_TRUE(d.driver.cpu_can_access(d.space, PageNumber{5}, AccessType::Write));
  d.driver.audit();
}

// The second GPU's copy comes from its NVLink peer, which is nearer than the host.
TEST(ReadMostly, TheNearestHolderIsTheSource) {
  Driver d(peers());
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.read(0, 0);
  const BlockWork& work = d.read(0, 1);
  EXPECT_EQ(copied(work.copies, kGpu, kPeer), 64_KiB);
  EXPECT_EQ(copied(work.copies, kCpu, kPeer), Bytes{});
  d.driver.audit();
}

TEST(ReadMostly, ExplicitMigrationDuplicates) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.driver.migrate(d.space, kManagedBase, 2_MiB, kGpu)->next();
  EXPECT_TRUE(d.on_gpu(0).full());
  EXPECT_TRUE(d.on_cpu(0).full());
  d.driver.audit();
}

TEST(ReadMostly, UnsettingKeepsOneCopy) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.read(0);
  d.driver.advise(d.space, kManagedBase, 2_MiB, -kReadMostly, kCpu);
  EXPECT_TRUE(d.on_cpu(0).full());
  EXPECT_TRUE(d.on_gpu(0).none());
  d.driver.audit();
}

TEST(ReadMostly, UnsettingKeepsTheCopyAtThePreferredLocation) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kReadMostly, kCpu);
  d.read(0);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
  d.driver.advise(d.space, kManagedBase, 2_MiB, -kReadMostly, kCpu);
  EXPECT_EQ(d.on_gpu(0), pages(0, 16));
  EXPECT_EQ(d.on_cpu(0), pages(16, 512));
  d.driver.audit();
}

// Data stays in host memory; the GPU maps it remotely, the faulted page and no more (590 and later keep the tree
// running towards the preferred location, which is where the data is: 64 KiB).
TEST(PreferredLocation, OnTheHostTheGpuMapsRemotely) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kCpu);
  const BlockWork& work = d.read(0);
  EXPECT_TRUE(work.copies.empty());
  EXPECT_EQ(work.destination, kCpu);
  ASSERT_EQ(work.map.size(), 1u);
  EXPECT_TRUE(work.map[0].remote);
  EXPECT_TRUE(work.map[0].pages.test(0));
  EXPECT_TRUE(d.on_cpu(0).full());
  EXPECT_TRUE(d.on_gpu(0).none());
  d.driver.audit();
}

TEST(PreferredLocation, FirstTouchThereFetchesTheWholeBlock) {
  Driver d(small_machine(16_MiB));
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
  EXPECT_EQ(d.write(300).populated, 2_MiB);
}

// Since 590 the tree does not run away from a preferred location: the CPU reads back single 4 KiB pages. Before,
// the first fault brought 64 KiB.
TEST(PreferredLocation, TheCpuReadsBackSinglePagesSince590) {
  for (const auto& [version, bytes] : {std::pair{"595.45.04", 4_KiB}, {"580.65.06", 64_KiB}}) {
    Machine machine = small_machine(16_MiB);
    machine.driver.version = version;
    Driver d(machine);
    d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
    d.write(0);
    const BlockWork& work = d.driver.cpu_fault(d.space, PageNumber{7}, AccessType::Read, Time{0});
    EXPECT_EQ(copied(work.copies, kGpu, kCpu), bytes) << version;
    EXPECT_TRUE(work.waits_for_copies);
  }
}

// Setting it removes the remote mappings of the preferred location, so that it faults and pulls the pages.
TEST(PreferredLocation, SettingItRemovesItsRemoteMappings) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu);
  const auto works = d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
  ASSERT_EQ(works.size(), 1u);
  ASSERT_EQ(works[0].unmap.size(), 1u);
  EXPECT_TRUE(works[0].unmap[0].pages.full());
  EXPECT_EQ(copied(d.read(0).copies, kCpu, kGpu), 64_KiB);
  d.driver.audit();
}

TEST(AccessedBy, MapsAtOnceAndAgainAfterAMigration) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  const auto works = d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu);
  ASSERT_EQ(works.size(), 1u);
  ASSERT_EQ(works[0].map.size(), 1u);
  EXPECT_TRUE(works[0].map[0].remote);
  EXPECT_TRUE(works[0].map[0].pages.full());
  EXPECT_FALSE(d.read(0).serviced) << "the GPU has access already";
  d.driver.migrate(d.space, kManagedBase, 2_MiB, kGpu)->next();
  const BlockWork& back = d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0});
  ASSERT_EQ(back.map.size(), 1u) << "the pages that went to the CPU are mapped remotely again";
  EXPECT_EQ(back.map[0].pages, pages(0, 16));
  EXPECT_TRUE(back.map[0].remote);
  d.driver.audit();
}

// A preferred location is to fault and pull its pages, so it is never mapped to where they are instead.
TEST(AccessedBy, NeverMapsThePreferredLocationRemotely) {
  Driver d(small_machine(16_MiB));
  d.driver.advise(d.space, kManagedBase, 2_MiB, kPreferredLocation, kGpu);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu);
  const BlockWork& work = d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0});
  EXPECT_TRUE(work.serviced);
  EXPECT_TRUE(work.map.empty());
  EXPECT_EQ(copied(d.read(0).copies, kCpu, kGpu), 4_KiB);
}

// After an eviction the GPU keeps access, remotely.
TEST(AccessedBy, MapsEvictedPagesRemotely) {
  Driver d(small_machine(2_MiB), 4_MiB);
  d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu);
  d.write(0);
  const BlockWork& work = d.write(page_in(1, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  ASSERT_EQ(work.evictions[0].unmap.size(), 2u);
  EXPECT_EQ(work.evictions[0].unmap[1].permission, Permission::ReadWrite);
  EXPECT_TRUE(work.evictions[0].unmap[1].remote);
  EXPECT_FALSE(d.write(0).serviced);
  d.driver.audit();
}

// Advice on pages [256, 512) of a full block cuts it: two ragged blocks, 4 KiB copies, no 2 MiB chunk.
TEST(Split, AdviceOnAPartOfABlockMakesTwoRaggedBlocks) {
  Driver d(small_machine(16_MiB));
  d.cpu_touch(0, 512);
  d.read(0);
  d.read(300);
  d.driver.advise(d.space, kManagedBase + 1024 * 1024, 1_MiB, kPreferredLocation, kCpu);
  d.driver.audit();
  EXPECT_EQ(d.on_gpu(0), pages(0, 16) | pages(288, 304));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 7) << "both parts share the root chunk";
  const BlockWork& work = d.read(100);
  ASSERT_EQ(work.copies.size(), 1u);
  EXPECT_EQ(work.copies[0].methods, 16) << "one per 4 KiB page";
  d.driver.audit();
}

// A cut is permanent: unsetting the advice does not merge the halves.
TEST(Split, CutsStay) {
  Driver d(small_machine(16_MiB));
  d.driver.advise(d.space, kManagedBase + 1024 * 1024, 1_MiB, kReadMostly, kCpu);
  d.driver.advise(d.space, kManagedBase + 1024 * 1024, 1_MiB, -kReadMostly, kCpu);
  EXPECT_EQ(
      d.driver.fetch(GpuIndex{0}, d.space, std::vector<FaultEntry>{{PageNumber{255}, {}, 0}, {PageNumber{256}, {}, 0}})
          .blocks.size(),
      2u);
}

// The same advice again, or on whole blocks, cuts nothing.
TEST(Split, AdviceOnWholeBlocksCutsNothing) {
  Driver d(small_machine(16_MiB), 6_MiB);
  d.cpu_touch(0, 3 * 512);
  EXPECT_EQ(d.driver.advise(d.space, block_address(1), 2_MiB, kReadMostly, kCpu).size(), 1u);
  EXPECT_EQ(d.read(page_in(1, 0)).copies[0].methods, 2);
}

TEST(Advise, CostsPerBlockWalked) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.advise_block = microseconds(2);
  machine.gpus[GpuIndex{0}].driver_costs.cpu_unmap_page = nanoseconds(10);
  machine.gpus[GpuIndex{0}].driver_costs.cpu_map_page = nanoseconds(200);
  Driver d(machine, 6_MiB);
  d.cpu_touch(0, 2 * 512);
  const auto works = d.driver.advise(d.space, kManagedBase, 6_MiB, kReadMostly, kCpu);
  ASSERT_EQ(works.size(), 2u) << "the third block does not exist yet";
  EXPECT_EQ(works[0].cpu, microseconds(2) + nanoseconds(512 * (10 + 200)))
      << "512 pages are unmapped from the CPU, and mapped again to be read";
}

// 496 pages of the host and 16 of the GPU: what is the GPU's own needs no mapping for DMA.
TEST(Advise, CostsPerPageOfTheHostThatAGpuGets) {
  Machine machine = small_machine(16_MiB);
  machine.gpus[GpuIndex{0}].driver_costs.advise_page = nanoseconds(400);
  Driver d(machine);
  d.cpu_touch(0, 512);
  d.read(0);
  ASSERT_EQ(d.on_gpu(0), pages(0, 16));
  const auto works = d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].cpu, nanoseconds(496 * 400));
  EXPECT_EQ(d.driver.advise(d.space, kManagedBase, 2_MiB, kAccessedBy, kGpu)[0].cpu, Duration{0}) << "it has them";
}

}  // namespace
}  // namespace uvmsim
