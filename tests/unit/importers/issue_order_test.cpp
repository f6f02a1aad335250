#include "importers/issue_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/managed_blocks.h"

namespace uvmsim {
namespace {

std::vector<std::int64_t> issued(std::vector<StreamWork> work) {
  order_streams(work);
  std::vector<std::int64_t> times;
  for (const StreamWork& one : work) times.push_back(one.issued);
  return times;
}

TEST(IssueOrder, WorkWithoutACallFollowsWhatRanBeforeItOnItsStream) {
  EXPECT_THAT(issued({{0, 7, 500, 100}, {0, 7, 600, -1}, {0, 7, 700, 110}}), testing::ElementsAre(100, 101, 110));
}

// Of two before the first call, the earlier one stands before the later one.
TEST(IssueOrder, WorkBeforeTheFirstCallStandsBeforeIt) {
  EXPECT_THAT(issued({{0, 7, 500, -1}, {0, 7, 600, -1}, {0, 7, 700, 110}}), testing::ElementsAre(108, 109, 110));
}

TEST(IssueOrder, AStreamWithoutCallsIsIssuedWhenItRuns) {
  EXPECT_THAT(issued({{0, 7, 600, -1}, {0, 7, 500, -1}, {1, 7, 600, 20}}), testing::ElementsAre(600, 500, 20));
}

// Calls in the opposite order of the starts cannot be of this stream: the start decides.
TEST(IssueOrder, StartsDecideWithinAStream) {
  EXPECT_THAT(issued({{0, 7, 500, 120}, {0, 7, 600, 110}}), testing::ElementsAre(120, 121));
}

// Blocks of 2 MiB: 0 and 1 are one range, 3 is another. A range of 3 MiB is cut at the block's end.
TEST(ManagedBlocks, BlocksThatFollowEachOtherAreOneRange) {
  constexpr std::uint64_t kBlock = 2 << 20;
  ManagedBlocks blocks;
  blocks.add(kBlock + 4096, 4096);
  blocks.add(4096, 3 << 20);
  blocks.add(3 * kBlock, 64);
  const auto ranges = blocks.ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].address, 4096u);
  EXPECT_EQ(ranges[0].bytes, static_cast<std::int64_t>(kBlock) + 4096);
  EXPECT_EQ(ranges[1].address, 3 * kBlock);
  EXPECT_EQ(ranges[1].bytes, 64);
}

}  // namespace
}  // namespace uvmsim
