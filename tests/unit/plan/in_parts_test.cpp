// Eight layers of 64 MiB of activations and 1 MiB of weights, 10 ms forward and 20 ms backward each: backward l needs
// two activations, 128 MiB, beside the weights.
#include "plan/planners/in_parts.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "base/user_error.h"
#include "support/rewriting_services.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

Plan plan_with(const Profile& profile, const std::string& planner, PlanServices& services) {
  return planner_named(planner)->plan({&profile, 1}, services).front();
}

// 110 MiB hold three halves of an activation, one of them on its way out, and the weights, 104 MiB, not two whole ones.
TEST(InParts, SplitsBatchesOfWhichOneKernelNeedsTooMuch) {
  const trace::Trace trace = LayerChain{}.trace();
  RewritingServices services(trace);
  const Profile small = LayerChain{}.profile(110 * kMiB), large = LayerChain{}.profile(1024 * kMiB);
  const Plan split = plan_with(small, "modnn", services);
  EXPECT_EQ(split.sub_batches, 2);
  EXPECT_TRUE(split.feasible) << split.why;
  EXPECT_EQ(plan_with(large, "modnn", services).sub_batches, 1);
  NoServices none;
  EXPECT_FALSE(plan_with(small, "modnn", none).feasible);
}

TEST(InParts, WhatCannotBeSplitIsAFault) {
  const Profile profile = LayerChain{}.profile(100 * kMiB);
  const auto planner = planner_named("modnn");
  parameter<int>(*planner, "sub_batches") = 2;
  NoServices none;
  EXPECT_THROW(planner->plan({&profile, 1}, none), UserError);
}

// Two layers with an optimizer, in two parts: the CPU adds each layer's second gradient to the first, once both are
// out; the sums come back for the optimizer. 4 x 1 MiB out, 2 x 1 MiB in.
TEST(InParts, TheCpuMaySumTheirGradients) {
  const LayerChain chain{.layers = 2, .optimizer = true};
  const trace::Trace trace = chain.trace();
  RewritingServices services(trace);
  const Profile profile = chain.profile(1024 * kMiB);
  const auto modnn = planner_named("modnn");
  parameter<int>(*modnn, "sub_batches") = 2;
  parameter<int>(*modnn, "cpu_accumulation") = 4;
  const Plan plan = modnn->plan({&profile, 1}, services).front();
  EXPECT_TRUE(plan.feasible) << plan.why;
  const auto of = [&](std::size_t kind) {
    return std::ranges::count_if(plan.actions, [&](const Action& a) { return a.index() == kind; });
  };
  EXPECT_EQ(of(Action(HostCompute{}).index()), 2);
  EXPECT_EQ(of(Action(Move{}).index()), 4 + 2);
  std::string why;
  const Profile split = *services.rewritten(profile, 2, {}, why);
  EXPECT_TRUE(check_plan(*split.graph, plan, {.device = 1024 * kMiB}).errors.empty());
}

// All take as long; only the second one fits.
TEST(InParts, TakesTheFastestThatFits) {
  const Profile profile = LayerChain{}.profile(1024 * kMiB);
  std::vector<int> asked;
  const auto best = fastest_in_parts(
      [&](int parts) {
        asked.push_back(parts);
        Plan plan = empty_plan(profile, "test");
        plan.sub_batches = parts;
        plan.feasible = parts == 2;
        return PlanInParts{profile, plan};
      },
      4);
  EXPECT_EQ(best->plan.sub_batches, 2);
  EXPECT_THAT(asked, testing::ElementsAre(1, 2, 4));
}

}  // namespace
}  // namespace uvmsim
