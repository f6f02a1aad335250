#include "plan/swap_schedule.h"

#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

TEST(LoadCurve, AnswersAsAPlainListDoes) {
  std::vector<std::int64_t> plain = {5, 3, 8, 1, 9, 2, 7};
  LoadCurve curve(plain);
  std::uint64_t random = 88172645463325252u;
  const auto below = [&](int most) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return static_cast<std::int32_t>(random % static_cast<std::uint64_t>(most));
  };
  for (int round = 0; round < 500; ++round) {
    const std::int32_t a = below(8), b = below(8), first = std::min(a, b), outer = std::max(a, b);
    const std::int64_t bytes = below(21) - 10;
    curve.add(first, outer, bytes);
    for (std::int32_t k = first; k < outer; ++k) plain[static_cast<std::size_t>(k)] += bytes;
    const std::int32_t from = below(7), to = from + 1 + below(7 - from);
    const auto part = std::span(plain).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    EXPECT_EQ(curve.most(from, to), std::ranges::max(part));
    const std::int64_t limit = below(21) - 5;
    std::int32_t first_over = -1, last_over = -1;
    for (std::int32_t k = from; k < to; ++k)
      if (plain[static_cast<std::size_t>(k)] > limit) {
        last_over = k;
        if (first_over < 0) first_over = k;
      }
    EXPECT_EQ(curve.last_over(from, to, limit), last_over);
    EXPECT_EQ(curve.first_over(from, to, limit), first_over);
  }
}

TEST(LoadCurve, AnIntervalThatWrapsIsFreeOnBothSidesOfTheBorder) {
  LoadCurve curve({4, 4, 4, 4, 4});
  curve.free_between(3, 1, 3);  // away at kernels 4 and 0
  EXPECT_EQ(curve.most(0, 1), 1);
  EXPECT_EQ(curve.most(1, 4), 4);
  EXPECT_EQ(curve.most(4, 5), 1);
  EXPECT_EQ(curve.most_between(3, 1), 1);
}

// Four forward and four backward kernels, each a layer of the trace.
TEST(LayerRuns, AreTheLayersOfTheTraceSoManyAtATime) {
  const Profile profile = LayerChain{.layers = 4}.profile(kMiB);
  const LayerRuns each(*profile.graph), threes(*profile.graph, 3);
  EXPECT_EQ(each.count(), 8);
  EXPECT_EQ(each.of(5), 5);
  EXPECT_EQ(threes.count(), 3);
  EXPECT_EQ(threes.first(1), 3);
  EXPECT_EQ(threes.last(1), 5);
  EXPECT_EQ(threes.of(6), 2);
}

// 10 bytes, 15 at kernel 3, room for 18. Of three tensors of 4 bytes that are away, two come back after kernel 3, when
// 10
// + 4 + 4 fit; the third one after the use of the first by kernel 5. The fourth fits all the while.
TEST(BringBackEarly, EachComesAfterTheLastKernelAtWhichItDoesNotFit) {
  LoadCurve curve({10, 10, 10, 15, 10, 10, 10});
  std::vector<Move> moves;
  for (const std::int32_t next : {5, 6, 6}) moves.push_back({.of = {next, 0, next, 4}});
  moves.push_back({.of = {9, 0, 2, 1}});
  bring_back_early(0, 18, curve, moves);
  ASSERT_EQ(moves.size(), 3u);
  for (std::size_t m : {0u, 1u}) EXPECT_EQ(moves[m].in.at, (Trigger{Trigger::On::BeforeKernel, 4}));
  EXPECT_EQ(moves[2].in.at, (Trigger{Trigger::On::BeforeKernel, 5}));
}

// Eight layers of 64 MiB: 8 x 10 ms + 8 x 20 ms. One copy of 64 MiB takes 5.243 ms.
TEST(EstimatedTime, OfNothingIsTheIterations) {
  const Profile profile = LayerChain{}.profile(std::int64_t{1} << 30);
  EXPECT_EQ(estimated_time(profile, empty_plan(profile, "none")), profile.length);
}

// The activation of layer 0 leaves after kernel 1 and is asked for when kernel 14 comes: 5.243 ms late.
TEST(EstimatedTime, ACopyOnDemandIsWaitedFor) {
  const Profile profile = LayerChain{}.profile(std::int64_t{1} << 30);
  Plan plan = empty_plan(profile, "one");
  plan.actions = {Move{.of = {8, 1, 14, 64 * kMiB}, .out = {{Trigger::On::AfterKernel, 1}}}};
  EXPECT_EQ(estimated_time(profile, plan), profile.length + profile.links.in_time(64 * kMiB));
  std::get<Move>(plan.actions[0]).in.at = {Trigger::On::BeforeKernel, 13};
  EXPECT_EQ(estimated_time(profile, plan), profile.length);
}

// 8 x 64 MiB of activations and 8 MiB of weights in 512 MiB: 8 MiB leave and come back while nothing runs.
TEST(EstimatedTime, WhatDoesNotFitIsCopiedOutAndBack) {
  const Profile profile = LayerChain{}.profile(512 * kMiB);
  EXPECT_EQ(estimated_time(profile, empty_plan(profile, "none")),
            profile.length + profile.links.out_time(8 * kMiB) + profile.links.in_time(8 * kMiB));
}

// The node has 32 MiB.
TEST(Conclude, GivesUpWhatTheCheckerRefuses) {
  Profile profile = LayerChain{}.profile(std::int64_t{1} << 30);
  profile.nodes = {node("memory0", "dram", 32 * kMiB, true)};
  Plan plan = empty_plan(profile, "one");
  plan.actions = {Move{.of = {8, 1, 14, 64 * kMiB}, .out = {{Trigger::On::AfterKernel, 1}}}};
  conclude(profile, 1, plan);
  EXPECT_THAT(plan.actions, testing::IsEmpty());
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, testing::HasSubstr("memory node memory0 would hold 67.11 MB"));
}

}  // namespace
}  // namespace uvmsim
