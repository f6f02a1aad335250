// On the chain of support/conv_chain.h with room for four maps: the load is above that at kernels 4 (5 maps), 5, 6, 7
// (6) and 8 (5).
#include <gmock/gmock.h>

#include "support/conv_chain.h"

namespace uvmsim::testing_support {
namespace {

const LinkModel kMapPerMs{BytesPerSecond{kMap * 1000}, BytesPerSecond{kMap * 1000}, {}};
const NodeLink kHost{"memory0", "dram", Bytes{1 << 30}, kMapPerMs, true};
const NodeLink kSsd{"ssd0", "ssd", Bytes{1 << 30}, kMapPerMs, false};

// Map 0 is half gone during kernel 2 and half back during kernel 9: kernels 4 .. 8 between are above four maps, 5 ms.
// Map 1, between kernels 3 and 8: 4 ms. So map 0 goes first; then kernels 5 .. 7 are above, and map 1 takes the rest.
// Eagerly, map 1 can be back at kernel 8 and map 0 at kernel 9, as memory has room then.
TEST(G10, TakesTheLargestReducibleArea) {
  const Plan plan = PlannerUnderTest("g10").with("target", 1.0).plan(conv_chain_profile(4, {kHost}));
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(move_of(plan, 0)->in.at, before(9));
  EXPECT_EQ(move_of(plan, 1)->in.at, before(8));
  EXPECT_EQ(move_of(plan, 0)->to, "");
}

// Idle for 8 and 6 ms; a write, a read and half of a read take 2.5 ms.
TEST(G10, PrefersTheSsdWhereTheTensorIsIdleForLong) {
  const Plan plan = PlannerUnderTest("g10").with("target", 1.0).plan(conv_chain_profile(4, {kHost, kSsd}));
  EXPECT_EQ(move_of(plan, 0)->to, "ssd0");
  EXPECT_EQ(move_of(plan, 1)->to, "ssd0");
  const Plan patient =
      PlannerUnderTest("g10").with("target", 1.0).with("margin", 5.0).plan(conv_chain_profile(4, {kHost, kSsd}));
  EXPECT_EQ(move_of(patient, 0)->to, "ssd0");  // 7 ms
  EXPECT_EQ(move_of(patient, 1)->to, "");
}

TEST(G10, SaysThatThereIsNoTier) {
  const Plan plan = PlannerUnderTest("g10").with("tiers", "ssd").plan(conv_chain_profile(4, {kHost}));
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, testing::HasSubstr("no memory node of kind ssd"));
}

// A host with room for one map takes map 0 alone.
TEST(G10, CountsTheHostsMemory) {
  NodeLink small = kHost;
  small.capacity = Bytes{kMap};
  const Plan plan = PlannerUnderTest("g10").with("target", 1.0).plan(conv_chain_profile(4, {small}));
  EXPECT_NE(move_of(plan, 0), nullptr);
  EXPECT_EQ(move_of(plan, 1), nullptr);
  EXPECT_FALSE(plan.feasible);
}

}  // namespace
}  // namespace uvmsim::testing_support
