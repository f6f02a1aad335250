// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/rewriting_services.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

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

// Two layers in two micro-batches: kernels 0 .. 3 are the first one's forward 0, 1 and backward 1, 0; 4 .. 9 the
// second's, each of its backwards before the sum of the gradient; 10 .. 15 the optimizer's. The second micro-batch goes
// through a layer right behind the first one.
TEST(Harmony, GroupsMicroBatchesByPacksOfLayers) {
  const LayerChain chain{.layers = 2, .optimizer = true};
  const trace::Trace trace = chain.trace();
  RewritingServices services(trace);
  const Profile profile = chain.profile(100 * kMiB);
  const auto planner = planner_named("harmony");
  parameter<int>(*planner, "micro_batches") = 2;
  const Plan by_layer = planner->plan({&profile, 1}, services).front();
  EXPECT_EQ(by_layer.sub_batches, 2);
  EXPECT_THAT(by_layer.order, testing::ElementsAre(0, 4, 1, 5, 2, 6, 7, 3, 8, 9, 10, 11, 12, 13, 14, 15));
  parameter<int>(*planner, "pack") = 2;
  const Plan together = planner->plan({&profile, 1}, services).front();
  EXPECT_THAT(together.order, testing::ElementsAre(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

}  // namespace
}  // namespace uvmsim
