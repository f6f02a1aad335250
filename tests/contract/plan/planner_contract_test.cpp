// What every planner keeps, on random layered networks, every other one on two streams: capacity in the ideal model,
// places inside intervals, the same plans from the same input. Without a solver the planners that want one fall back.
#include <algorithm>
#include <gtest/gtest.h>

#include "plan/plan_checker.h"
#include "plan/plan_json.h"
#include "plan/planner.h"
#include "support/random_net.h"

namespace uvmsim {
namespace {

class NoSolver final : public PlanServices {
 public:
  std::optional<MipSolution> solve(const MipModel&, const MipLimits&,
                                   const std::vector<std::pair<std::size_t, bool>>&) override {
    return std::nullopt;
  }
  std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) override {
    return std::vector<Evaluation>(sets.size(), {.outcome = "completed", .time = microseconds(1)});
  }
};

std::vector<Profile> profiles_of(std::uint64_t seed, int gpus, double share) {
  const trace::Trace net = random_net(seed, seed % 2 == 0);
  const BytesPerSecond rate{12'000'000'000};
  std::vector<Profile> profiles;
  for (int g = 0; g < gpus; ++g) {
    profiles.push_back(
        profile_iterations(net, DeviceOrdinal{0}, GpuIndex{g}, {.launch = {}, .links = {rate, rate, {}}}).back());
    profiles.back().budget = Bytes{static_cast<std::int64_t>(share * static_cast<double>(profiles.back().peak()))};
  }
  return profiles;
}

class PlannerContract : public testing::TestWithParam<std::string> {
 protected:
  std::vector<Plan> plans(const std::vector<Profile>& profiles) const {
    NoSolver services;
    return planners().find(GetParam())->make()->plan(profiles, services);
  }
};

TEST_P(PlannerContract, OnePlanPerGpuThatFitsItsIteration) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Profile> profiles = profiles_of(seed, 3, 0.7);
    const std::vector<Plan> made = plans(profiles);
    ASSERT_EQ(made.size(), profiles.size());
    for (std::size_t g = 0; g < made.size(); ++g) {
      EXPECT_EQ(made[g].gpu, profiles[g].gpu);
      EXPECT_EQ(made[g].iteration, profiles[g].shape());
      EXPECT_EQ(made[g].planner, GetParam());
      EXPECT_TRUE(check_plan(*profiles[g].graph, made[g], {.device = profiles[g].budget.value}).errors.empty())
          << "seed " << seed;
    }
  }
}

TEST_P(PlannerContract, WhatItCallsFeasibleKeepsToTheBudget) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const double share : {0.9, 0.6, 0.3}) {
      const std::vector<Profile> profiles = profiles_of(seed, 2, share);
      const std::vector<Plan> made = plans(profiles);
      for (std::size_t g = 0; g < made.size(); ++g) {
        const Profile& p = profiles[g];
        const bool possible = std::ranges::max(p.floor()) <= p.budget.value;
        if (!possible) {
          EXPECT_FALSE(made[g].feasible) << "seed " << seed << " share " << share;
        }
        if (!made[g].feasible || made[g].actions.empty()) continue;  // nothing is planned: reclaimed on demand
        std::vector<std::int64_t> load = p.graph->load;
        for (const Action& action : made[g].actions)
          for (const TensorInterval& i : intervals_of(action))
            for (std::int32_t k = 0; k < p.shape().kernels; ++k)
              if (i.wraps() ? k > i.last_use || k < i.next_use : k > i.last_use && k < i.next_use)
                load[static_cast<std::size_t>(k)] -= i.bytes;
        EXPECT_LE(std::ranges::max(load), p.budget.value) << "seed " << seed << " share " << share;
        EXPECT_TRUE(check_plan(*p.graph, made[g], {.device = p.budget.value}).errors.empty())
            << "seed " << seed << " share " << share;
      }
    }
}

TEST_P(PlannerContract, TheSameInputMakesTheSamePlans) {
  const std::vector<Profile> profiles = profiles_of(7, 2, 0.6);
  EXPECT_EQ(to_json({"", plans(profiles)}), to_json({"", plans(profiles)}));
}

TEST_P(PlannerContract, ItSaysSomethingAboutItsPlan) {
  for (const Plan& plan : plans(profiles_of(3, 1, 0.6))) EXPECT_FALSE(plan.why.empty());
}

TEST_P(PlannerContract, ItSaysWhatItTakesOnHardware) {
  EXPECT_FALSE(planners().find(GetParam())->on_hardware.empty());
}

INSTANTIATE_TEST_SUITE_P(All, PlannerContract, testing::ValuesIn(planners().names()),
                         [](const auto& planner) { return planner.param; });

}  // namespace
}  // namespace uvmsim
