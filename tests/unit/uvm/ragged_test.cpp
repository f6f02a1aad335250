// Blocks shorter than 2 MiB: sub-chunks, copies, and the lists (driver specification, sections 1.2, 4.1, 6.2).
#include <gtest/gtest.h>

#include "support/driver_fixture.h"
#include "uvm/free_pages.h"
#include "uvm/make_resident.h"

namespace uvmsim {
namespace {

using namespace test;

// Pages [8, 100): 64 KiB from 16 to 96, 4 KiB at both ends.
TEST(SubChunks, AreNaturallyAligned) {
  EXPECT_EQ(sub_chunk_region({8, 100}, 8), (PageRegion{8, 9}));
  EXPECT_EQ(sub_chunk_region({8, 100}, 16), (PageRegion{16, 32}));
  EXPECT_EQ(sub_chunk_region({8, 100}, 95), (PageRegion{80, 96}));
  EXPECT_EQ(sub_chunk_region({8, 100}, 96), (PageRegion{96, 97}));
}

TEST(FreePages, SmallOnesComeFromPagesAlreadyCutUp) {
  PageMask used;
  EXPECT_EQ(find_free_pages(used, 16), 0u);
  used.set(PageRegion{0, 16});
  used.set(PageRegion{32, 35});
  EXPECT_EQ(find_free_pages(used, 16), 16u);
  EXPECT_EQ(find_free_pages(used, 1), 35u);
  EXPECT_EQ(find_free_pages(PageMask::all(), 1), 512u);
}

// Two allocations of 100 pages: their blocks share one root chunk.
TEST(SubChunks, RaggedBlocksShareARootChunk) {
  Driver d(small_machine(8_MiB), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(1), 400_KiB);
  d.write(0);
  d.write(page_in(1, 0));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 3);
  d.driver.audit();
  d.driver.free_managed(d.space, kManagedBase);
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 3);
  d.driver.free_managed(d.space, block_address(1));
  EXPECT_EQ(d.driver.free_root_chunks(GpuIndex{0}), 4) << "merged when all of it is free";
  d.driver.audit();
}

// The last block of 2 MiB + 100 pages: 64 KiB host chunks, one method per 4 KiB page.
TEST(RaggedBlock, CopiesPageByPage) {
  Driver d(small_machine(8_MiB), {kBlockBytes + 100 * kPageBytes});
  d.cpu_touch(0, 612);
  EXPECT_EQ(d.read(page_in(0, 0)).copies[0].methods, 2);
  const BlockWork& work = d.read(page_in(1, 0));
  ASSERT_EQ(work.copies.size(), 1u);
  EXPECT_EQ(work.copies[0].copies, 2);
  EXPECT_EQ(work.copies[0].methods, 16);
}

// Evicting the shared root chunk empties both blocks, with one copy for each: 192 KiB in 2 runs of the first
// and 64 KiB of the second.
TEST(RaggedBlock, EvictionTakesAllBlocksOfTheRootChunk) {
  Driver d(small_machine(2_MiB), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(1), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(2), 2_MiB);
  d.fault(0, {0, 16, 64}, AccessType::Write);
  d.write(page_in(1, 0));
  const BlockWork& work = d.write(page_in(2, 0));
  ASSERT_EQ(work.evictions.size(), 1u);
  ASSERT_EQ(work.evictions[0].copies.size(), 2u);
  EXPECT_EQ(work.evictions[0].copies[0].copies, 2);
  EXPECT_EQ(work.evictions[0].copies[0].bytes, 192_KiB);
  EXPECT_EQ(work.evictions[0].copies[1].bytes, 64_KiB);
  EXPECT_EQ(work.evictions[0].bytes, 256_KiB);
  EXPECT_TRUE((d.on_gpu(0) | d.on_gpu(1)).none());
  d.driver.audit();
}

// Rule (i) only: a ragged block's service that takes no chunk does not move its root chunk back in the list. The
// first service of pages 0..15 takes a chunk; the write to its evicted-free 64 KiB again does not.
TEST(RaggedBlock, ServicesWithoutANewChunkDoNotTouchTheList) {
  Driver d(small_machine(4_MiB), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(1), 4_MiB);
  d.write(0);              // root chunk A, split
  d.write(page_in(1, 0));  // root chunk B
  d.cpu_touch(0, 16);      // A's pages go home, its sub-chunk stays
  EXPECT_TRUE(d.write(0).serviced);
  d.write(page_in(2, 0));
  EXPECT_TRUE(d.on_gpu(0).none()) << "A is still the oldest";
  EXPECT_TRUE(d.on_gpu(1).any());
  d.driver.audit();
}

// Rule (i): freeing a part of a root chunk moves it to the tail, too. A holds two blocks, of which one is freed.
TEST(RaggedBlock, FreeingAPartTouchesTheRootChunk) {
  Driver d(small_machine(4_MiB), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(1), 400_KiB);
  d.driver.allocate_managed(d.space, block_address(2), 4_MiB);
  d.write(page_in(0, 0));
  d.write(page_in(1, 0));
  d.write(page_in(2, 0));
  d.driver.free_managed(d.space, kManagedBase);
  d.write(page_in(3, 0));
  EXPECT_TRUE(d.on_gpu(1).any());
  EXPECT_TRUE(d.on_gpu(2).none());
  d.driver.audit();
}

// A whole and a ragged block take turns in a GPU of one root chunk.
TEST(RaggedBlock, ServicesRestartAfterEviction) {
  Driver d(small_machine(2_MiB), {kPageBytes * 600});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(d.write(page_in(0, 0)).serviced);
    EXPECT_TRUE(d.write(page_in(1, 0)).serviced);
    d.driver.audit();
  }
  EXPECT_EQ(d.on_gpu(1), pages(0, 16));
}

// A recycled root chunk's pieces are cleared one by one, 64 KiB each.
TEST(RaggedBlock, PiecesOfARecycledChunkAreCleared) {
  Driver d(small_machine(2_MiB), 2_MiB);
  d.driver.allocate_managed(d.space, block_address(1), 400_KiB);
  EXPECT_EQ(d.write(0).zeroed, Bytes{});
  EXPECT_EQ(d.write(page_in(1, 0)).zeroed, 64_KiB);
}

// Host chunks of drivers before 530 are 4 KiB each: the same 2 MiB block copies page by page.
TEST(HostChunks, OldDriversHaveSmallOnes) {
  Machine machine = small_machine(8_MiB);
  machine.driver.version = "525.60.11";
  Driver d(machine);
  d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, Time{0});
  EXPECT_EQ(d.driver.host_bytes(), 64_KiB) << "only the pages that became resident";
  EXPECT_EQ(d.read(0).copies[0].methods, 16);
}

}  // namespace
}  // namespace uvmsim
