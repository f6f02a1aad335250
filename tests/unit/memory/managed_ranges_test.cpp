#include "memory/managed_ranges.h"

#include <gtest/gtest.h>

#include "support/sizes.h"

namespace uvmsim {
namespace {

class ManagedRangesTest : public testing::Test {
 protected:
  // Where `bytes` are, from the first managed address.
  std::int64_t allocate(std::int64_t bytes) {
    const ManagedRanges::Place place = ranges_.allocate(Bytes{bytes});
    made_ = place.new_range.value;
    return static_cast<std::int64_t>(place.address - kManagedBase);
  }
  ManagedRanges::Freed free(std::int64_t offset) {
    return ranges_.free(kManagedBase + static_cast<VirtualAddress>(offset));
  }

  ManagedRanges ranges_;
  std::int64_t made_ = 0;  // bytes of the VA range that the last call made
};

// UVMSmart's ATAX, nw and FDTD-2D: 1200 x 1200, 1025 x 1025 and 1200 x 1201 floats are 1406.25, 1026.001 and 1407.4
// pages. Each begins on 2 MiB.
TEST_F(ManagedRangesTest, LargeOnesAreWholePages) {
  EXPECT_EQ(allocate(1200 * 1200 * 4), 0);
  EXPECT_EQ(made_, 1407 * 4096);
  EXPECT_EQ(allocate(1025 * 1025 * 4), 6 * kMiB);
  EXPECT_EQ(made_, 1027 * 4096);
  EXPECT_EQ(allocate(1200 * 1201 * 4), 12 * kMiB);
  EXPECT_EQ(made_, 1408 * 4096);
}

// ATAX's x, y and tmp, of 4800 B, a multiple of 512 apart: y begins on page 1.
TEST_F(ManagedRangesTest, SmallOnesFollowEachOther) {
  EXPECT_EQ(allocate(4800), 0);
  EXPECT_EQ(made_, 2 * kMiB);
  EXPECT_EQ(allocate(4800), 5120);
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(allocate(4800), 10240);
}

// UVMSmart's bfs of 256,000 nodes: beside 2,048,000 B there are 48 KiB left, not enough for a mask of 250 KiB. Three of
// them and the costs fit in the next 2 MiB.
TEST_F(ManagedRangesTest, WhatDoesNotFitBeginsAnotherRange) {
  EXPECT_EQ(allocate(2'048'000), 0);
  for (int mask = 0; mask < 3; ++mask) EXPECT_EQ(allocate(256'000), 2 * kMiB + mask * 250 * kKiB);
  EXPECT_EQ(allocate(1'024'000), 2 * kMiB + 750 * kKiB);
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(allocate(40 * kKiB), 2'048'000) << "where it fits best";
}

// UVMSmart's managedAllocRoundUp: 2 MiB + 192 KiB have more than that behind them.
TEST_F(ManagedRangesTest, SharedRangesAreWholeBlocks) {
  EXPECT_EQ(allocate(2 * kMiB + 192 * kKiB), 0);
  EXPECT_EQ(made_, 4 * kMiB);
  EXPECT_EQ(allocate(1), 2 * kMiB + 192 * kKiB);
}

// Uvm-eval's arrays of 2 MiB, and PyTorch's segments.
TEST_F(ManagedRangesTest, WholeBlocksAreNotShared) {
  EXPECT_EQ(allocate(2 * kMiB), 0);
  EXPECT_EQ(made_, 2 * kMiB);
  EXPECT_EQ(allocate(2 * kMiB), 2 * kMiB);
  EXPECT_TRUE(free(0).last);
  EXPECT_EQ(allocate(2 * kMiB), 4 * kMiB) << "addresses of ranges are not used again";
}

TEST_F(ManagedRangesTest, ARangeGoesWithTheLastThatIsInIt) {
  allocate(512);
  allocate(512);
  allocate(512);
  EXPECT_FALSE(free(0).last);
  EXPECT_EQ(allocate(100), 0) << "a free place is used again";
  EXPECT_FALSE(free(512).last);
  EXPECT_FALSE(free(0).last);
  const ManagedRanges::Freed last = free(1024);
  EXPECT_TRUE(last.last);
  EXPECT_EQ(last.range, kManagedBase);
  EXPECT_EQ(allocate(512), 2 * kMiB);
  EXPECT_EQ(made_, 2 * kMiB);
}

}  // namespace
}  // namespace uvmsim
