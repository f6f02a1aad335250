// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "plan/codec.h"
#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// 520 MiB into 0.95 x 400 = 380. Six activations are idle between the passes; all else takes at most 200, at kernel 9
// (which is prepared before kernel 8 frees what it used): two of 64 MiB can stay, the first four leave. Then kernels 8
// and 9 have 264, so that tensor 11, which kernel 11 uses, is back at kernel 8; the others each when one is freed.
TEST(FlashNeuron, TakesActivationsInTheOrderOfTheForwardPassUntilTheRestFits) {
  Profile profile = LayerChain{}.profile(400 * kMiB);
  profile.nodes = {node("memory0", "dram", kPlenty, true), node("ssd0", "ssd", kPlenty), node("ssd1", "ssd", kPlenty)};
  const Plan plan = plan_by(*planner_named("flashneuron"), profile);
  EXPECT_TRUE(plan.feasible);
  const std::vector<Move> moves = actions_of<Move>(plan);
  ASSERT_THAT(moves, SizeIs(4));
  for (const Move& m : moves) {
    EXPECT_EQ(m.out.at, (Trigger{Trigger::On::AfterKernel, m.of.last_use}));
    EXPECT_EQ(m.codec, "");
  }
  const std::vector<std::int32_t> back = {8, 10, 11, 12};
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(moves[n].of.tensor, 11 - static_cast<std::int32_t>(n));
    EXPECT_EQ(moves[n].in.at, (Trigger{Trigger::On::BeforeKernel, back[n]}));
  }
  EXPECT_EQ(moves[0].to, "ssd0");
  EXPECT_EQ(moves[1].to, "ssd1");
  expect_proved(profile, plan);
}

// The links carry 1 MiB in 10 ms: nothing hides, so that what a ReLU wrote goes first, encoded: of the 16 Mi elements
// 38 % with 3 bytes each, and 4 bytes for each 256.
TEST(FlashNeuron, EncodesOutputsOfReluWhenCopiesDoNotHide) {
  Profile profile = LayerChain{.forward = "relu"}.profile(400 * kMiB);
  profile.nodes = {node("ssd0", "ssd", kPlenty)};
  profile.nodes[0].links.out = profile.nodes[0].links.in = BytesPerSecond{100 * kMiB};
  profile.sparsity = 0.62;
  const Plan plan = plan_by(*planner_named("flashneuron"), profile);
  for (const Move& m : actions_of<Move>(plan)) {
    EXPECT_EQ(m.codec, "csr_fp16");
    EXPECT_EQ(m.sparsity, 0.62);
  }
  EXPECT_EQ(encoded_bytes("csr_fp16", {.bytes = Bytes{64 * kMiB}, .sparsity = 0.62}),
            6'375'342 * 3 + (16 * kMiB / 256) * 4);
  expect_proved(profile, plan);
}

TEST(FlashNeuron, SaysThatThereIsNoStorage) {
  const Plan plan = plan_by(*planner_named("flashneuron"), LayerChain{}.profile(400 * kMiB));
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.why, HasSubstr("no memory node of kind ssd"));
}

}  // namespace
}  // namespace uvmsim
