// Planners that choose intervals one after the other, on the chain of support/conv_chain.h with room for four maps: the
// load is above that at kernels 4 (5 maps), 5, 6, 7 (6) and 8 (5). Without maps 0 and 1, which are idle in 2 .. 9 and
// 3 .. 8, it is at most four.
#include <gmock/gmock.h>

#include "base/number_text.h"
#include "plan/feature_maps.h"
#include "plan/plan_checker.h"
#include "support/conv_chain.h"

    namespace uvmsim::testing_support {
  namespace {

  // At kernel 4 maps 0 and 1 cost nothing: their copies out would end 3 and 4 ms after the begin, and kernel 4 starts
  // at 4 ms. Map 2 would be gone at 5 ms. Of the two, map 0 is needed last. At kernel 5, with the link free at 3 ms,
  // maps 1 and 2 cost nothing, and map 1 is needed later. Map 1 (for kernel 9) can be back at kernel 8, which holds
  // three maps without it, then map 0 (for kernel 10) at kernel 9.
  TEST(Modnn, OffloadsWhatCostsLeastAndFetchesAsEarlyAsMemoryPermits) {
    const Profile profile = conv_chain_profile(4);
    const Plan plan = PlannerUnderTest("modnn").plan(profile);
    EXPECT_TRUE(plan.feasible);
    EXPECT_EQ(plan.actions.size(), 2u);
    EXPECT_EQ(move_of(plan, 0)->in.at, before(9));
    EXPECT_EQ(move_of(plan, 1)->in.at, before(8));
    EXPECT_LE(check_plan(*profile.graph, plan, {}).peak, profile.budget.value);
  }

  TEST(Modnn, SaysThatABatchDoesNotFit) {
    const Plan plan = PlannerUnderTest("modnn").plan(conv_chain_profile(2));
    EXPECT_FALSE(plan.feasible);
    EXPECT_THAT(plan.why, testing::HasSubstr("does not fit"));
  }

  // Durations of absence: maps 0 .. 3 are idle for 8, 6, 4 and 2 ms, less 2 ms for their copies.
  TEST(Autoswap, TakesTheLongestAbsenceAtThePeakFirst) {
    const Plan plan = PlannerUnderTest("autoswap").with("score", "doa").plan(conv_chain_profile(4));
    EXPECT_TRUE(plan.feasible);
    EXPECT_EQ(plan.actions.size(), 2u);
    EXPECT_EQ(move_of(plan, 0)->in.at, before(9));  // 1 ms before kernel 10
    EXPECT_EQ(move_of(plan, 1)->in.at, before(8));  // 1 ms before kernel 9 and before that copy
    EXPECT_EQ(move_of(plan, 0)->out, (Transfer{after(1), Sync::Alloc}));
  }

  TEST(Autoswap, AllScoresAgreeOnAChain) {
    for (const char* score : {"aoa", "wdoa", "swdoa", "vote"}) {
      const Plan plan = PlannerUnderTest("autoswap").with("score", score).plan(conv_chain_profile(4));
      EXPECT_NE(move_of(plan, 0), nullptr) << score;
      EXPECT_NE(move_of(plan, 1), nullptr) << score;
    }
  }

  // Copies out end at 3 and 4 ms, copies in start at 9 and 8 ms: map 0 is away for kernels 3 .. 8, map 1 for 4 .. 7.
  // That leaves four maps at kernels 5 to 8.
  TEST(Autoswap, WithoutOverheadABlockIsAwayWhileNothingMovesIt) {
    const Plan plan = PlannerUnderTest("autoswap").with("mode", "no_overhead").plan(conv_chain_profile(4));
    EXPECT_TRUE(plan.feasible);
    EXPECT_THAT(plan.why, testing::HasSubstr(bytes_text(4 * kMap + kGradient) + " instead of " +
                                             bytes_text(6 * kMap + kGradient)));
    EXPECT_EQ(move_of(plan, 0)->out.sync, Sync::None);
  }

  // A copy of a map takes 10 ms: none is away at any time.
  TEST(Autoswap, WithoutOverheadASlowLinkMovesNothing) {
    Profile profile = conv_chain_profile(4);
    profile.links.out = profile.links.in = BytesPerSecond{kMap * 100};
    const Plan plan = PlannerUnderTest("autoswap").with("mode", "no_overhead").plan(profile);
    EXPECT_TRUE(plan.actions.empty());
    EXPECT_FALSE(plan.feasible);
  }

  // On this chain the level of a kernel is its number. With room for five maps levels 5 and 6 hold one too many. Map 0,
  // from level 0 to 10, is the last that a threshold excludes: 9. It is gone from level 3 on (used at 1, a level for
  // the copy out) and has to be away at level 6, so it may start to come at level 7, 3 ahead of 10. It was used 9
  // levels before, so groupby may be 8.
  TEST(Tflms, TunesThresholdThenAheadThenGroupby) {
    const Plan plan = PlannerUnderTest("tflms").with("memory", 1.0).plan(conv_chain_profile(5));
    EXPECT_TRUE(plan.feasible);
    EXPECT_THAT(plan.why, testing::StartsWith("threshold 9, ahead 3, groupby 8, sync_mode 0 of 12 levels"));
    ASSERT_EQ(plan.actions.size(), 1u);
    EXPECT_EQ(move_of(plan, 0)->out, (Transfer{after(1), Sync::Alloc}));
    EXPECT_EQ(move_of(plan, 0)->in, (Transfer{before(7), Sync::Stream}));
  }

  TEST(Tflms, SwapsNothingThatFits) {
    const Plan plan = PlannerUnderTest("tflms").with("memory", 1.0).plan(conv_chain_profile(6));
    EXPECT_TRUE(plan.feasible);
    EXPECT_TRUE(plan.actions.empty());
  }

  // Threshold 5: maps 0, 1 and 2, used 10, 8 and 6 levels after they were made.
  TEST(Tflms, TakesItsParametersAsTheyAre) {
    const Plan plan = PlannerUnderTest("tflms")
                          .with("tune", false)
                          .with("threshold", 5)
                          .with("sync_mode", 3)
                          .plan(conv_chain_profile(6));
    EXPECT_EQ(plan.actions.size(), 3u);
    EXPECT_EQ(move_of(plan, 0)->out.sync, Sync::Host);
    EXPECT_EQ(move_of(plan, 0)->in.sync, Sync::Host);
  }

  }  // namespace
}  // namespace uvmsim::testing_support
