// On the chain of support/conv_chain.h. vDNN offloads maps 0 .. 3 during kernels 1 .. 4. Every layer of the backward
// pass is a convolution, so layer 5 (kernel 6) fetches what layer 4 (kernel 7) needs, and so on: map 3 before kernel 6,
// map 0 before kernel 9. At most three maps are there: the two of the layer that runs and the one that comes.
#include <gmock/gmock.h>

#include "plan/encoded_moves.h"
#include "plan/plan_checker.h"
#include "support/conv_chain.h"

namespace uvmsim::testing_support {
namespace {

TEST(Vdnn, OffloadsInputsWhileTheyAreReadAndFetchesThemALayerAhead) {
  const Profile profile = conv_chain_profile(3);
  const Plan plan = PlannerUnderTest("vdnn").with("mode", "conv").plan(profile);
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(plan.actions.size(), 4u);
  for (std::int32_t map = 0; map < 4; ++map) {
    const Move* move = move_of(plan, map);
    ASSERT_NE(move, nullptr);
    EXPECT_EQ(move->out, (Transfer{before(map + 1), Sync::Layer}));
    EXPECT_TRUE(copies_during_last_use(*move));
    EXPECT_EQ(move->in, (Transfer{before(9 - map), Sync::Layer}));
  }
  EXPECT_EQ(check_plan(*profile.graph, plan, {}).peak, 3 * kMap + kGradient);
}

TEST(Vdnn, DynTakesTheFirstThatFits) {
  EXPECT_TRUE(PlannerUnderTest("vdnn").plan(conv_chain_profile(6)).actions.empty());
  EXPECT_EQ(PlannerUnderTest("vdnn").plan(conv_chain_profile(3)).actions.size(), 4u);
  const Plan none = PlannerUnderTest("vdnn").plan(conv_chain_profile(2));
  EXPECT_FALSE(none.feasible);
  EXPECT_THAT(none.why, testing::HasSubstr("does not fit"));
}

// Four maps do not fit into a host of two.
TEST(Vdnn, GivesUpWhatTheHostHasNoRoomFor) {
  const NodeLink host{"memory0", "dram", Bytes{2 * kMap}, {}, true};
  const Plan plan = PlannerUnderTest("vdnn").plan(conv_chain_profile(3, {host}));
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, testing::HasSubstr("memory node memory0 would hold"));
}

TEST(Vdnn, ConvOffloadsNothingWithoutConvolutions) {
  const Profile profile = conv_chain_profile(3, {}, false);
  const Plan plan = PlannerUnderTest("vdnn").with("mode", "conv").plan(profile);
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, testing::HasSubstr("no layer's input may be offloaded"));
  EXPECT_EQ(PlannerUnderTest("vdnn").with("mode", "all").plan(profile).actions.size(), 4u);
}

// The chain with a second way to run each kernel, in half the time and 2 maps of workspace, with room for `maps`.
Profile with_algorithms(std::int64_t maps) {
  trace::Trace trace = conv_chain();
  trace.variants = {{{.duration_ns = 500'000, .workspace = 2 * kMap}}};
  for (trace::Record& record : trace.records)
    if (auto* kernel = std::get_if<trace::Kernel>(&record)) kernel->variants = 0;
  const BytesPerSecond map_per_ms{kMap * 1000};
  return profile_iterations(trace, DeviceOrdinal{0}, GpuIndex{0},
                            {.launch = {},
                             .links = {map_per_ms, map_per_ms, {}},
                             .nodes = {},
                             .budget = Bytes{maps * kMap + kGradient}})
      .back();
}

// All six maps and a workspace fit into 8. Offloaded, 3 maps and a workspace into 5. In 4 the kernels that run beside
// 3 maps run as they are recorded, and in 3 all but the first one, which has one map.
TEST(Vdnn, DynTakesTheFastestAlgorithmsThatFit) {
  const auto dyn = [](std::int64_t maps) {
    const Profile profile = with_algorithms(maps);
    Plan plan = PlannerUnderTest("vdnn").plan(profile);
    EXPECT_TRUE(plan.feasible) << plan.why;
    EXPECT_LE(check_plan(*profile.graph, plan, {}).peak, profile.budget.value);
    return std::pair(plan.actions.size(), plan.variants.size());
  };
  EXPECT_EQ(dyn(8), std::pair(std::size_t{0}, std::size_t{12}));
  EXPECT_EQ(dyn(5), std::pair(std::size_t{4}, std::size_t{12}));
  EXPECT_EQ(dyn(4).first, 4u);
  EXPECT_GT(dyn(4).second, 1u);
  EXPECT_LT(dyn(4).second, 12u);
  EXPECT_EQ(dyn(3), std::pair(std::size_t{4}, std::size_t{1}));
}

TEST(Vdnn, AlgorithmsAreChosenByTimeOrByWorkspace) {
  const auto variants = [](const char* algorithms) {
    return PlannerUnderTest("vdnn")
        .with("mode", "conv")
        .with("algorithms", algorithms)
        .plan(with_algorithms(8))
        .variants.size();
  };
  EXPECT_EQ(variants("performance"), 12u);
  EXPECT_EQ(variants("memory"), 0u);
  EXPECT_EQ(variants("recorded"), 0u);
}

// With room for all there is nothing to offload; else what no offloading makes fit runs in less workspace.
TEST(Modnn, TakesSmallerAlgorithmsWhereNothingIsLeftToOffload) {
  EXPECT_TRUE(PlannerUnderTest("modnn").plan(with_algorithms(8)).actions.empty());
  EXPECT_EQ(PlannerUnderTest("modnn").plan(with_algorithms(8)).variants.size(), 12u);
  const Profile small = with_algorithms(3);
  const Plan plan = PlannerUnderTest("modnn").plan(small);
  EXPECT_TRUE(plan.feasible) << plan.why;
  EXPECT_FALSE(plan.actions.empty());
  EXPECT_LT(plan.variants.size(), 12u);
  EXPECT_LE(check_plan(*small.graph, plan, {}).peak, small.budget.value);
}

// Every second convolution: maps 0 and 2, needed by layers 1 (kernel 10) and 3 (kernel 8). From layer 5 (kernel 6) the
// nearest convolution is layer 4, which needs nothing, so map 2 is left to layer 4 (kernel 7), and map 0 to layer 2.
// Without a limit layer 5 fetches map 2 and layer 4 map 0. Two layers ahead, layer 3 (kernel 8) fetches map 0.
TEST(VdnnPp, LooksForFeatureMapsWithinItsWindow) {
  const auto ins = [](const std::string& window, int distance) {
    const Plan plan = PlannerUnderTest("vdnn_pp")
                          .with("offload", "alternate_conv")
                          .with("window", window)
                          .with("distance", distance)
                          .plan(conv_chain_profile(6));
    EXPECT_EQ(plan.actions.size(), 2u);
    return std::pair(move_of(plan, 2)->in.at, move_of(plan, 0)->in.at);
  };
  EXPECT_EQ(ins("nearest_convolution", 1), std::pair(before(7), before(9)));
  EXPECT_EQ(ins("unlimited", 1), std::pair(before(6), before(7)));
  EXPECT_EQ(ins("distance", 2), std::pair(before(6), before(8)));
}

TEST(VdnnPp, JoinsNoLayers) {
  const Plan plan = PlannerUnderTest("vdnn_pp").with("offload", "conv").plan(conv_chain_profile(3));
  EXPECT_TRUE(plan.feasible);
  for (const Action& action : plan.actions) {
    EXPECT_EQ(std::get<Move>(action).out.sync, Sync::Alloc);
    EXPECT_EQ(std::get<Move>(action).in.sync, Sync::Stream);
  }
}

TEST(VdnnPp, EncodesWhatLiesInHostMemory) {
  const Profile profile = conv_chain_profile(3);
  Plan plan = PlannerUnderTest("vdnn_pp").with("offload", "conv").plan(profile);
  encode_moves(*profile.graph, {.name = "zvc_cpu", .sparsity = 0.5}, plan);
  EXPECT_EQ(move_of(plan, 0)->codec, "zvc_cpu");
  const PlanProof proof = check_plan(*profile.graph, plan, {});
  EXPECT_TRUE(proof.errors.empty());
  EXPECT_EQ(proof.nodes.at(""), 4 * (kMap / 32 + kMap / 2));
}

// Two convolutions before the layers that need maps 3, 2, 1 and 0 (kernels 7 to 10): kernels 5 to 8, but not before the
// backward pass begins with kernel 6. Without the maps that are away kernels 6 .. 9 hold 2, 3, 3 and 3; with room for
// four, maps 3 and 2 fill kernels 6 and 7, and maps 1 and 0 come a kernel later.
TEST(Dymem, FetchesTwoConvolutionsAheadWhereThereIsRoom) {
  const auto ins = [](const Plan& plan) {
    EXPECT_TRUE(plan.feasible);
    std::vector<std::int32_t> kernels;
    for (std::int32_t map = 4; map-- > 0;) {
      EXPECT_EQ(move_of(plan, map)->out.at, after(map + 1));
      kernels.push_back(move_of(plan, map)->in.at.kernel);
    }
    return kernels;
  };
  EXPECT_THAT(ins(PlannerUnderTest("dymem").plan(conv_chain_profile(5))), testing::ElementsAre(6, 6, 7, 8));
  EXPECT_THAT(ins(PlannerUnderTest("dymem").plan(conv_chain_profile(4))), testing::ElementsAre(6, 6, 8, 9));
  EXPECT_TRUE(PlannerUnderTest("dymem").plan(conv_chain_profile(6)).actions.empty());
}

}  // namespace
}  // namespace uvmsim::testing_support
