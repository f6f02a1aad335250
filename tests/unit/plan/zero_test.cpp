// A chain of layers with an optimizer, three kernels for each weight.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Two layers: kernels 4, 5 and 6 update weight 0, 7, 8 and 9 weight 1. Moments (2, 3) stay on the host; each gradient
// (6, 7) leaves after the backward kernel that makes it; a weight comes back after its step.
TEST(ZeroOffload, LeavesTheOptimizerToTheHost) {
  const Profile profile = LayerChain{.layers = 2, .optimizer = true}.profile(400 * kMiB);
  const Plan plan = plan_by(*planner_named("zero_offload"), profile);
  const std::vector<HostCompute> steps = actions_of<HostCompute>(plan);
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_THAT(steps[0].kernels, testing::ElementsAre(4, 5, 6));
  EXPECT_EQ(steps[0].at, (Trigger{Trigger::On::BeforeKernel, 4}));
  const std::vector<Move> moves = actions_of<Move>(plan);
  // Two moments; two weights, out and in; two gradients, out.
  ASSERT_THAT(moves, SizeIs(2 + 4 + 2));
  for (const Move& m : moves) {
    if (m.of.tensor >= 2 && m.of.tensor < 4) {
      EXPECT_EQ(m.out.at, (Trigger{Trigger::On::BeforeKernel, 0}));
    }
    if (m.of.tensor >= 6) {
      EXPECT_EQ(m.out.at, (Trigger{Trigger::On::AfterKernel, m.of.last_use}));
      EXPECT_EQ(m.in.at.on, Trigger::On::Access);
    }
  }
  EXPECT_TRUE(plan.feasible);
  expect_proved(profile, plan);
}

// A weight's copy on the host stays while the passes read it on the GPU; moments and gradients are written in between.
TEST(ZeroOffload, KeepsTheParametersOnTheHost) {
  const Profile profile = LayerChain{.layers = 2, .optimizer = true}.profile(400 * kMiB);
  for (const Move& m : actions_of<Move>(plan_by(*planner_named("zero_offload"), profile)))
    EXPECT_EQ(m.keep, m.of.tensor < 2 && m.of.wraps()) << "tensor " << m.of.tensor << " after " << m.of.last_use;
}

// Without moments and scratch the GPU holds at most what the passes need: two weights, two activations, a gradient; and
// the gradients' 1 MiB each more at the kernels of the optimizer.
TEST(ZeroOffload, WhatOnlyTheHostUsesTakesNoDeviceMemory) {
  const Profile profile = LayerChain{.layers = 2, .optimizer = true}.profile((2 + 2 * 64 + 2) * kMiB);
  EXPECT_GT(profile.peak(), profile.budget.value);
  const Plan plan = plan_by(*planner_named("zero_offload"), profile);
  EXPECT_TRUE(plan.feasible) << plan.why;
  expect_proved(profile, plan);
}

TEST(ZeroOffload, HasNothingToDoWithoutAnOptimizer) {
  const Plan plan = plan_by(*planner_named("zero_offload"), LayerChain{}.profile(kPlenty));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.why, HasSubstr("no kernel is an optimizer's"));
}

TEST(ZeroInfinity, KeepsStateOnStorageAndParametersThereBetweenLayers) {
  Profile profile = LayerChain{.layers = 8, .weight = 8 << 20, .optimizer = true}.profile(kPlenty);
  profile.nodes = {node("memory0", "dram", kPlenty, true), node("ssd0", "ssd", kPlenty)};
  const Plan plan = plan_by(*planner_named("zero_infinity"), profile);
  EXPECT_THAT(actions_of<HostCompute>(plan), SizeIs(8));
  int weights = 0, moments = 0, activations = 0;
  for (const Move& m : actions_of<Move>(plan)) {
    const bool activation = m.of.bytes == 64 * kMiB;
    EXPECT_EQ(m.to, activation ? "" : "ssd0");
    activations += activation;
    moments += m.of.tensor >= 8 && m.of.tensor < 16;
    weights += m.of.tensor < 8;
  }
  EXPECT_EQ(moments, 8);
  // Out for the step and back in for each. Between the passes what more than three layers keep apart: weight l, used by
  // kernels l and 15 - l, for l <= 5, and activation l, used by l + 1 and 14 - l, for l <= 4.
  EXPECT_EQ(weights, 8 + 8 + 6);
  EXPECT_EQ(activations, 5);
  EXPECT_TRUE(plan.feasible);
  expect_proved(profile, plan);
}

TEST(ZeroInfinity, SaysThatThereIsNoStorage) {
  const Plan plan = plan_by(*planner_named("zero_infinity"), LayerChain{.optimizer = true}.profile(kPlenty));
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, HasSubstr("no memory node of kind ssd"));
}

}  // namespace
}  // namespace uvmsim
