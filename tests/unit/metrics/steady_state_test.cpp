#include "metrics/steady_state.h"

#include <gtest/gtest.h>

#include <vector>

namespace uvmsim {
namespace {

SteadyState find(const std::vector<double>& seconds, const std::vector<std::int64_t>& bytes, int warmup) {
  return find_steady_state(seconds, bytes, warmup);
}

TEST(SteadyState, ConstantIterationsHavePeriodOne) {
  const SteadyState s = find({9, 5, 5, 5}, {1, 60, 60, 60}, 1);
  EXPECT_EQ(s.period, 1);
  EXPECT_EQ(s.first, 1);
  EXPECT_EQ(s.count, 3);
}

// The language models of the 2019 talk: 8.3 and 26.1 GB by turns. Their mean is 17.2, their last is not.
TEST(SteadyState, AlternatingIterationsAreReportedInPairs) {
  const SteadyState s = find({9, 2, 6, 2, 6, 2}, {0, 83, 261, 83, 261, 83}, 1);
  EXPECT_EQ(s.period, 2);
  EXPECT_EQ(s.count % 2, 0);
  EXPECT_EQ(s.first + s.count, 6);
}

TEST(SteadyState, NoPeriodIsSaidAndEverythingAfterTheWarmUpCounts) {
  const SteadyState s = find({1, 2, 4, 8, 16}, {1, 2, 4, 8, 16}, 1);
  EXPECT_EQ(s.period, 0);
  EXPECT_EQ(s.first, 1);
  EXPECT_EQ(s.count, 4);
}

TEST(SteadyState, OneIterationIsItsOwnMeanAndNoPeriod) {
  const SteadyState s = find({7}, {3}, 0);
  EXPECT_EQ(s.period, 0);
  EXPECT_EQ(s.count, 1);
}

}  // namespace
}  // namespace uvmsim
