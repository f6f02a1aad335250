// What every coordinator keeps when GPUs run: everything completes and moves what it would without it, GPUs that share
// nothing are not touched, the same input gives the same bytes.
#include <gtest/gtest.h>

#include "support/swap_chain.h"

namespace uvmsim {
namespace {

using namespace testing_support;

constexpr double kBudget = 0.6 * kPeakMegabytes;

std::vector<Plan> plans_for(int gpus, bool reactive) {
  std::vector<Plan> plans;
  for (int g = 0; g < gpus; ++g) {
    plans.push_back(chain_plan(g, kBudget, dealt(0, 1)));
    if (reactive) plans.back().actions.clear(), plans.back().speculate = true;
  }
  return plans;
}

class CoordinatorRuns : public testing::TestWithParam<std::string> {
 protected:
  Result run_on(int gpus, bool reactive, int every, double rate = 12) const {
    const auto kind = coordinators().find(GetParam())->make();
    return run_chain(one_switch(gpus, kBudget, rate), plans_for(gpus, reactive), kind.get(), every, 4);
  }
};

TEST_P(CoordinatorRuns, CompletesAndMovesTheSameBytes) {
  for (const bool reactive : {false, true})
    for (const int every : {0, 1, 2}) {
      const Result with = run_on(4, reactive, every);
      const Result without = run_chain(one_switch(4, kBudget, 12), plans_for(4, reactive), nullptr, every, 4);
      ASSERT_EQ(with.outcome, Outcome::Completed) << with.detail;
      for (std::size_t g = 0; g < 4; ++g) {
        EXPECT_EQ(with.gpus[g].counts.kernels, without.gpus[g].counts.kernels);
        // Reactive swapping may speculate otherwise when copies end at other times.
        if (reactive) continue;
        EXPECT_EQ(with.gpus[g].counts.memcpy_d2h_bytes, without.gpus[g].counts.memcpy_d2h_bytes);
        EXPECT_EQ(with.gpus[g].counts.memcpy_h2d_bytes, without.gpus[g].counts.memcpy_h2d_bytes);
      }
    }
}

TEST_P(CoordinatorRuns, OneGpuRunsAsWithoutIt) {
  const Result without = run_chain(one_switch(1, kBudget, 12), plans_for(1, false), nullptr, 1, 4);
  EXPECT_TRUE(to_json(run_on(1, false, 1)) == to_json(without)) << "events included";
}

TEST_P(CoordinatorRuns, TheSameInputGivesTheSameBytes) {
  EXPECT_TRUE(to_json(run_on(3, false, 2)) == to_json(run_on(3, false, 2)));
}

INSTANTIATE_TEST_SUITE_P(All, CoordinatorRuns, testing::ValuesIn(coordinators().names()),
                         [](const auto& coordinator) { return coordinator.param; });

}  // namespace
}  // namespace uvmsim
