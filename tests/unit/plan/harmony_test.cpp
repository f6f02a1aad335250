// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

// 516 MiB into 0.95 x 400 = 380: three tensors of 64 MiB; the peer has room for one of them, half of its 128 MiB for
// each of two GPUs.
TEST(Harmony, FillsTheMemoryOfPeersBeforeTheHosts) {
  Profile profile = LayerChain{.weight = kMiB / 2}.profile(400 * kMiB);
  profile.nodes = {node("memory0", "dram", kPlenty, true), node("hbm1", "gpu", 128 * kMiB)};
  const std::vector<Profile> two = {profile, profile};
  NoServices services;
  const std::vector<Plan> plans = planner_named("harmony")->plan(two, services);
  for (const Plan& plan : plans) {
    const std::vector<Move> moves = actions_of<Move>(plan);
    EXPECT_EQ(std::ranges::count(moves, "hbm1", &Move::to), 1);
    EXPECT_EQ(std::ranges::count(moves, "", &Move::to), 2);
    EXPECT_TRUE(plan.feasible);
    expect_proved(profile, plan);
  }
}

}  // namespace
}  // namespace uvmsim
