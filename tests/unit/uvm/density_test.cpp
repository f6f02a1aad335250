// The density prefetcher on facts worked out by hand (driver specification, section 3.3).
#include "uvm/prefetch/density.h"

#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace uvmsim {
namespace {

PageMask pages(std::uint32_t first, std::uint32_t outer) { return PageMask::of({first, outer}); }

PrefetchView view_of(PageRegion block, PageMask resident, PageMask faulted) {
  PrefetchView view;
  view.block = view.region = block;
  view.resident = resident;
  view.faulted = faulted;
  return view;
}

PrefetchView whole(PageMask resident, PageMask faulted) { return view_of({0, 512}, resident, faulted); }

// What one service moves.
PageMask migrated(const PrefetchView& view, int threshold) {
  return (view.faulted | density_hint(view, {threshold})) - view.resident;
}

// Faults on the lowest (or highest) page not resident until the block is full; pages moved by each.
std::vector<int> sweep(int threshold, bool ascending) {
  std::vector<int> sizes;
  PageMask resident;
  while (!resident.full()) {
    std::uint32_t page = resident.next_clear(0);
    if (!ascending)
      for (page = 511; resident.test(page);) --page;
    const PageMask moved = migrated(whole(resident, pages(page, page + 1)), threshold);
    sizes.push_back(moved.count());
    resident |= moved;
  }
  return sizes;
}

std::vector<int> repeat(int times, int value) { return std::vector<int>(static_cast<std::size_t>(times), value); }

// Fault 0: growth fills 16 pages; 16/32 = 50 % is not more than 51 %: 64 KiB. Fault 16: 32/32, then 32/64 = 50 %:
// 64 KiB. Fault 32: 48/64 = 75 %: 128 KiB. Fault 64: 80/128. Fault 128: 144/256. Fault 256: 272/512 = 53 %.
TEST(Density, ASweepAtThreshold51TakesSixFaults) {
  const std::vector<int> expected{16, 16, 32, 64, 128, 256};
  EXPECT_EQ(sweep(51, true), expected);
  EXPECT_EQ(sweep(51, false), expected);
}

// 16/256 = 6.25 % is more than 5 %, 16/512 = 3.1 % is not: 1 MiB, then the other.
TEST(Density, ASweepAtThreshold5TakesTwoFaults) {
  EXPECT_EQ(sweep(5, true), (std::vector<int>{256, 256}));
  EXPECT_EQ(sweep(5, false), (std::vector<int>{256, 256}));
}

TEST(Density, SweepsAtOtherThresholds) {
  EXPECT_EQ(sweep(1, true), (std::vector<int>{512}));
  EXPECT_EQ(sweep(10, true), (std::vector<int>{128, 384}));
  EXPECT_EQ(sweep(25, true), (std::vector<int>{32, 96, 384}));
  EXPECT_EQ(sweep(50, true), (std::vector<int>{16, 16, 32, 64, 128, 256}));
  EXPECT_EQ(sweep(75, true).size(), 20u);
  EXPECT_EQ(sweep(90, true).size(), 28u);
  EXPECT_EQ(sweep(99, true), repeat(32, 16));
  EXPECT_EQ(sweep(100, true), repeat(512, 1));
}

// A power of two of pages P is dense after one fault when 16 * 100 > P * T: T <= 3 for 512 pages (3.125 %),
// 6 for 256, 12 for 128, 24 for 64, 49 for 32, 99 for 16.
TEST(Density, FirstFaultSizesByThreshold) {
  const std::map<int, int> last_threshold_of{{3, 512}, {6, 256}, {12, 128}, {24, 64}, {49, 32}, {99, 16}, {100, 1}};
  for (int threshold = 0; threshold <= 100; ++threshold)
    EXPECT_EQ(migrated(whole({}, pages(37, 38)), threshold).count(), last_threshold_of.lower_bound(threshold)->second)
        << "threshold " << threshold;
}

// The whole block is dense with 17 of 32 big pages (272/512 = 53 %), not with 16 (50 %).
TEST(Density, SeventeenOf32BigPagesFetchTheBlock) {
  PageMask one_per_128k;
  for (std::uint32_t page = 0; page < 512; page += 32) one_per_128k.set(page);
  EXPECT_EQ(migrated(whole({}, one_per_128k), 51).count(), 16 * 16);
  one_per_128k.set(16);
  EXPECT_EQ(migrated(whole({}, one_per_128k), 51).count(), 512);
}

// Levels that fail do not end the climb: [0, 32) is 50 %, but [0, 64) is 75 % and wins.
TEST(Density, AFailingLevelIsSkippedOver) { EXPECT_EQ(migrated(whole(pages(32, 64), pages(0, 1)), 51), pages(0, 32)); }

// One thrashing page keeps its 64 KiB page from growing; the page itself is not fetched.
TEST(Density, ThrashingPagesAreNeitherGrownNorFetched) {
  PrefetchView view = whole({}, pages(3, 4));
  view.thrashing = pages(7, 8);
  EXPECT_EQ(migrated(view, 51), pages(3, 4));
}

// A block of pages 8..511 of its frame: the tree starts at the 64 KiB boundary below it, with 8 ghost leaves.
TEST(Density, TheTreeOfARaggedHeadIsAlignedTo64KiB) {
  const DensityGeometry g = density_geometry({8, 512}, false, false);
  EXPECT_EQ(g.offset, 8u);
  EXPECT_EQ(g.leaf_count, 512u);
  EXPECT_EQ(g.level_count, 10u);
  EXPECT_EQ(g.big_pages, (PageRegion{16, 512}));
}

// Ten pages without a whole big page: no ghosts, 10 leaves, ceil(log2 10) + 1 = 5 levels.
TEST(Density, ABlockWithoutABigPageIsOneUnit) {
  const DensityGeometry g = density_geometry({250, 260}, false, false);
  EXPECT_EQ(g.offset, 0u);
  EXPECT_EQ(g.leaf_count, 10u);
  EXPECT_EQ(g.level_count, 5u);
  EXPECT_EQ(migrated(view_of({250, 260}, {}, pages(252, 253)), 51), pages(250, 260));
}

// 300 pages: the tail of 12 pages [288, 300) is a unit of its own.
TEST(Density, TheTailOfARaggedBlockGrowsAsAUnit) {
  EXPECT_EQ(migrated(view_of({0, 300}, {}, pages(299, 300)), 99), pages(288, 300));
}

// Head of 8 pages [8, 16), fault in it at threshold 5: [0, 256) of the tree is dense (8/256 = 3.1 % is not, but
// 8/128 = 6.25 % is): leaves [0, 128) are frame pages [0, 128). With the quirk the range starts at block page 8,
// which is frame page 16; without, at the block's first page.
TEST(Density, TheHeadClampQuirkSkipsTheHead) {
  const PrefetchView view = view_of({8, 512}, {}, pages(8, 9));
  EXPECT_EQ(density_hint(view, {5, true}), pages(16, 128));
  EXPECT_EQ(density_hint(view, {5, false}), pages(9, 128));
}

// Drivers before 525 count leaves for 128 KiB pages: a block from page 24 on has 512 - 24 pages and 24 ghosts.
TEST(Density, BlocksHaveMoreLeavesBefore525) {
  EXPECT_EQ(density_geometry({24, 512}, false, true).leaf_count, 488u + 24u);
  EXPECT_EQ(density_geometry({24, 512}, false, false).leaf_count, 488u + 8u);
}

TEST(DensityHint, FirstTouchAtThePreferredLocationFetchesTheBlock) {
  PrefetchView view = whole({}, pages(9, 10));
  view.preferred_location_set = view.to_preferred_location = true;
  view.resident_anywhere = false;
  EXPECT_EQ(density_hint(view, {51}), pages(0, 512) - pages(9, 10));
  view.resident_anywhere = true;
  EXPECT_EQ(density_hint(view, {51}), pages(0, 9) | pages(10, 16));
}

TEST(DensityHint, Since590NothingIsFetchedAwayFromThePreferredLocation) {
  PrefetchView view = whole(pages(0, 256), pages(256, 257));
  view.preferred_location_set = true;
  EXPECT_TRUE(density_hint(view, {51, true, false}).none());
  EXPECT_EQ(density_hint(view, {51, true, true}), pages(0, 256) | pages(257, 512));
}

TEST(DensityHint, PagesMappedOnTheCpuAreNotFetchedThere) {
  PrefetchView view = whole(pages(0, 64), pages(64, 65));
  view.to_cpu = true;
  view.cpu_mapped = pages(0, 32);
  EXPECT_EQ(density_hint(view, {51}), pages(32, 64) | pages(65, 128));
}

}  // namespace
}  // namespace uvmsim
