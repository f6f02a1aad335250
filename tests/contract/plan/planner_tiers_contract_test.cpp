// What every planner keeps on a machine with storage, NVM and the memory of another GPU, for programs with an
// optimizer: its plans can be executed, keep to the budget when they say so, and are the same each time.
#include <algorithm>
#include <gtest/gtest.h>

#include "plan/plan_json.h"
#include "support/layer_chain.h"
#include "support/random_net.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

class PlannerTiersContract : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<NodeLink> tiers() {
    return {node("ssd0", "ssd", 64 * kGiB), node("ssd1", "ssd", 64 * kGiB), node("optane0", "nvm", 64 * kGiB),
            node("hbm1", "gpu", kGiB / 4), node("memory0", "dram", 64 * kGiB, true)};
  }

  // A chain of convolutions, each with a faster way to run in a workspace as large as an activation, and a slower one.
  static Profile with_variants() {
    trace::Trace trace = LayerChain{.layers = 6, .forward = "conv", .optimizer = true}.trace();
    trace.variants = {{{.duration_ns = 6'000'000, .workspace = 64 << 20}, {.duration_ns = 15'000'000, .workspace = 0}}};
    for (trace::Record& record : trace.records)
      if (auto* kernel = std::get_if<trace::Kernel>(&record); kernel != nullptr && kernel->duration_ns >= 10'000'000)
        kernel->variants = 0;
    constexpr BytesPerSecond kRate{12'800'000'000};
    return profile_iterations(trace, DeviceOrdinal{0}, GpuIndex{0}, {.links = {kRate, kRate, {}}}).back();
  }

  // Chains with an optimizer, one of them with launch variants, and random networks without, with `share` of the memory
  // that they need.
  static std::vector<Profile> profiles(double share) {
    std::vector<Profile> found;
    for (int layers = 1; layers <= 9; layers += 2)
      found.push_back(
          LayerChain{.layers = layers, .weight = layers << 20, .forward = "relu", .optimizer = true}.profile(0));
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      found.push_back(
          profile_iterations(random_net(seed), DeviceOrdinal{0}, GpuIndex{0},
                             {.links = {BytesPerSecond{12'000'000'000}, BytesPerSecond{12'000'000'000}, {}}})
              .back());
    found.push_back(with_variants());
    for (Profile& p : found) {
      p.nodes = tiers();
      p.budget = Bytes{static_cast<std::int64_t>(share * static_cast<double>(p.peak()))};
    }
    return found;
  }

  static Plan plan(const Profile& profile) { return plan_by(*planner_named(GetParam()), profile); }
};

TEST_P(PlannerTiersContract, PlansCanBeExecuted) {
  for (const double share : {1.2, 0.8, 0.5, 0.1})
    for (const Profile& profile : profiles(share)) {
      PlanLimits limits{.device = profile.budget.value, .nodes = {}, .nearest = "memory0"};
      for (const NodeLink& n : profile.nodes) limits.nodes[n.name] = n.capacity.value;
      const PlanProof empty = check_plan(*profile.graph, empty_plan(profile, "none"), limits);
      if (!empty.errors.empty()) continue;  // a kernel alone needs more
      const Plan made = plan(profile);
      for (const InputError& error : check_plan(*profile.graph, made, limits).errors)
        ADD_FAILURE() << "share " << share << ": " << error.place << ": " << error.message;
    }
}

TEST_P(PlannerTiersContract, FeasibleIsWithinTheBudgetInTheIdealModel) {
  for (const double share : {1.2, 0.8, 0.5, 0.1})
    for (const Profile& profile : profiles(share)) {
      const Plan made = plan(profile);
      if (!made.feasible || made.actions.empty()) continue;
      EXPECT_LE(std::ranges::max(load_under(profile, made)), profile.budget.value) << "share " << share;
    }
}

TEST_P(PlannerTiersContract, TheSameInputMakesTheSamePlans) {
  for (const Profile& profile : profiles(0.5))
    EXPECT_EQ(to_json({"", {plan(profile)}}), to_json({"", {plan(profile)}}));
}

INSTANTIATE_TEST_SUITE_P(All, PlannerTiersContract, testing::ValuesIn(planners().names()),
                         [](const auto& planner) { return planner.param; });

}  // namespace
}  // namespace uvmsim
