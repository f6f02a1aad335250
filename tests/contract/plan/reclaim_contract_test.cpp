#include <gtest/gtest.h>
#include <random>
#include <set>

#include "plan/reclaim.h"

namespace uvmsim {
namespace {

class ReclaimContract : public testing::TestWithParam<std::string> {};

// Indices are of `idle`, each once, no tensor goes once there is enough, and the answer depends on the question alone.
TEST_P(ReclaimContract, NamesTensorsOnceAndNotMoreThanItNeeds) {
  const auto policy = reclaim_policies().find(GetParam())->make();
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<IdleTensor> idle(random() % 8);
    for (std::size_t i = 0; i < idle.size(); ++i)
      idle[i] = {static_cast<std::int64_t>(1 + random() % 100), static_cast<std::int32_t>(i)};
    const auto bytes = static_cast<std::int64_t>(1 + random() % 300);
    const std::vector<std::size_t> chosen = policy->choose(idle, bytes);
    EXPECT_EQ(policy->choose(idle, bytes), chosen);
    EXPECT_EQ(std::set<std::size_t>(chosen.begin(), chosen.end()).size(), chosen.size());
    std::int64_t found = 0;
    for (const std::size_t i : chosen) {
      ASSERT_LT(i, idle.size());
      EXPECT_LT(found, bytes) << "there was enough";
      found += idle[i].bytes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReclaimContract, testing::ValuesIn(reclaim_policies().names()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace uvmsim
