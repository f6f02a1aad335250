// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

// All activations are of one size, all weights of another, 1 MiB: 400 MiB are 8 objects of 1 MiB and six of 64. When
// kernel 6 makes the seventh activation, the first one is needed latest of six, by kernel 14.
TEST(SwapAdvisor, EvictsWhatIsNeededLatest) {
  const Profile profile = LayerChain{}.profile(400 * kMiB);
  const auto planner = planner_named("swap_advisor");
  const Plan plan = plan_by(*planner, profile);
  EXPECT_TRUE(plan.feasible) << plan.why;
  const std::vector<Move> moves = actions_of<Move>(plan);
  EXPECT_TRUE(std::ranges::any_of(moves, [](const Move& m) { return m.of == TensorInterval{8, 1, 14, 64 * kMiB}; }));
  expect_proved(profile, plan);
  parameter<std::string>(*planner, "pools") = "bytes";
  const Plan bound = plan_by(*planner, profile);
  EXPECT_TRUE(bound.feasible);
  const std::vector<Move> fewest = actions_of<Move>(bound);  // 520 - 400 = 120 MiB: two activations
  EXPECT_EQ(std::ranges::count(fewest, 64 * kMiB, [](const Move& m) { return m.of.bytes; }), 2);
  expect_proved(profile, bound);
}

TEST(SwapAdvisor, TheSeedDecidesTheSearch) {
  const Profile profile = LayerChain{.layers = 12, .weight = 5 << 20}.profile(400 * kMiB);
  const auto planner = planner_named("swap_advisor");
  EXPECT_EQ(plan_by(*planner, profile), plan_by(*planner, profile));
}

}  // namespace
}  // namespace uvmsim
