// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Intervals of two layers: kernels 0-1, 2-3, ... The activation of layer 0, used last by kernel 1 and next by kernel
// 14, leaves when the interval 2-3 begins and comes back when 12-13 does.
TEST(Sentinel, MovesAtTheStartsOfIntervals) {
  const auto planner = planner_named("sentinel");
  parameter<int>(*planner, "layers") = 2;
  const Profile profile = LayerChain{}.profile(400 * kMiB);
  const Plan plan = plan_by(*planner, profile);
  EXPECT_TRUE(plan.feasible);
  const std::vector<Move> moves = actions_of<Move>(plan);
  const auto first = std::ranges::find(moves, 8, [](const Move& m) { return m.of.tensor; });
  ASSERT_NE(first, moves.end());
  EXPECT_EQ(first->out.at, (Trigger{Trigger::On::BeforeKernel, 2}));
  EXPECT_EQ(first->in.at, (Trigger{Trigger::On::BeforeKernel, 12}));
  expect_proved(profile, plan);
}

// The simulation says of the sets in turn 3, 1 and 2 s: the second one goes on.
TEST(Sentinel, TriesItsBestIntervalsAfterTheFirstIteration) {
  class Timed final : public NoServices {
   public:
    std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) override {
      std::vector<Evaluation> found(sets.size());
      for (std::size_t n = 0; n < sets.size(); ++n) found[n].time = from_seconds(n == 0 ? 3 : static_cast<double>(n));
      return found;
    }
  };
  const auto planner = planner_named("sentinel");
  const Profile profile = LayerChain{}.profile(400 * kMiB);
  Timed services;
  EXPECT_TRUE(planner->revises());
  const std::vector<Plan> first = planner->plan({&profile, 1}, services);
  const std::vector<Plan> next = planner->revise({&profile, 1}, first, {.iteration = 0}, services);
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_NE(next[0].actions, first[0].actions);
  EXPECT_THAT(next[0].why, HasSubstr("the fastest of 3 tried: 1 s"));
  EXPECT_THAT(planner->revise({&profile, 1}, first, {.iteration = 1}, services), IsEmpty());
}

}  // namespace
}  // namespace uvmsim
