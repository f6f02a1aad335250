// The thesis' disjoint sets, on the chain of support/conv_chain.h with room for four maps: see greedy_planners_test.
#include <gmock/gmock.h>

#include "plan/planners/reuse_distance.h"
#include "support/conv_chain.h"

namespace uvmsim::testing_support {
namespace {

// All maps count, and memory may be used to the last byte.
ReuseDistanceOptions all_of_it() { return {.min_bytes = Bytes{1}, .budget = 1}; }

std::vector<std::size_t> chosen(const Profile& profile, const std::vector<std::size_t>& order) {
  return choose(profile, order, profile.budget.value, true);
}

// Two maps have to go of one GPU. Of four candidates two GPUs get two each, and no one is both GPUs'.
TEST(TmoLikeDisjoint, EnforcedSetsHaveNothingInCommon) {
  const std::vector<Profile> gpus(2, conv_chain_profile(4));
  const std::vector<std::size_t> alone = candidates(gpus[0], all_of_it());
  EXPECT_EQ(chosen(gpus[0], alone), chosen(gpus[1], alone)) << "without it both take the same";
  const auto orders = disjoint_orders(gpus, all_of_it());
  const std::vector<std::size_t> first = chosen(gpus[0], orders[0]), second = chosen(gpus[1], orders[1]);
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(second.empty());
  for (const std::size_t n : first) EXPECT_THAT(second, testing::Not(testing::Contains(n)));
}

// A GPU alone has all candidates, in the order of the heuristic but for those that it gets last.
TEST(TmoLikeDisjoint, OneGpuHasEveryCandidate) {
  const std::vector<Profile> gpus = {conv_chain_profile(4)};
  EXPECT_EQ(disjoint_orders(gpus, all_of_it()).front(), candidates(gpus[0], all_of_it()));
}

TEST(TmoLikeDisjoint, ThePlanSaysWhatItTakesWithAndWithout) {
  EXPECT_EQ(with_and_without(microseconds(12'000), microseconds(10'000)),
            "12 ms an iteration with disjoint sets, 10 ms with tmo_like_online's");
  EXPECT_EQ(with_and_without(kNever, microseconds(10'000)),
            "none an iteration with disjoint sets, 10 ms with tmo_like_online's");
}

}  // namespace
}  // namespace uvmsim::testing_support
