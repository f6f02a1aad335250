// A forward pass of five layers and a backward pass, on maps of 1 MiB (2^18 elements):
//   k0 relu writes tensor 1    k1 pooling reads 1, writes 2    k2 relu writes 3 of 2    k3 convolution reads 3, writes
//   4 k4 gemm reads 4, writes 5  k5 gemm_backward reads 4, 5     k6 conv_backward reads 3  k7 pool_backward reads 1, 2
#include <gmock/gmock.h>

#include "plan/plan_checker.h"
#include "support/layer_chain.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kMap = 1 << 20;

Profile five_layers() {
  TraceBuilder t({});
  const auto input = t.allocate(Bytes{kMap}, TensorKind::Input);
  t.iteration(0);
  t.phase("forward");
  std::vector<trace::TensorId> maps = {input};
  for (const char* kernel : {"relu", "max_pool", "relu", "conv", "gemm"}) {
    maps.push_back(t.allocate(Bytes{kMap}, TensorKind::Activation));
    t.kernel(kernel, {.duration_ns = 1'000'000}, {reads(maps[maps.size() - 2]), writes(maps.back())});
  }
  t.phase("backward");
  const auto backward = [&](const char* kernel, std::vector<trace::TensorId> last_read) {
    std::vector<trace::Access> accesses;
    for (const trace::TensorId map : last_read) accesses.push_back(reads(map));
    t.kernel(kernel, {.duration_ns = 1'000'000}, accesses);
    for (const trace::TensorId map : last_read) t.free(map);
  };
  backward("gemm_backward", {maps[4], maps[5]});
  backward("conv_backward", {maps[3]});
  backward("max_pool_backward", {maps[1], maps[2]});
  return profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, {.budget = Bytes{100 * kMap}}).front();
}

std::map<std::int32_t, std::string> codecs_of(const Plan& plan) {
  std::map<std::int32_t, std::string> codecs;
  for (const Encode& e : actions_of<Encode>(plan)) codecs[e.of.tensor] = e.codec;
  return codecs;
}

using testing::ElementsAre;
using testing::Pair;

// Between the uses of tensors 4 and 5 in both passes is no kernel: there is nothing to encode.
TEST(GistLike, EncodesByPairsOfLayers) {
  const Profile profile = five_layers();
  const Plan plan = plan_by(*planner_named("gist_like"), profile);
  EXPECT_THAT(codecs_of(plan), ElementsAre(Pair(1, "binarize"), Pair(2, "dpr_fp16"), Pair(3, "ssdc")));
  EXPECT_TRUE(plan.feasible);
  expect_proved(profile, plan);
}

// A pooling's indexes are no layer's input, and its backward pass alone reads them; a mask of a dropout stays.
TEST(GistLike, KeepsIndexesOfPoolingsInFourBits) {
  TraceBuilder t({});
  const auto input = t.allocate(Bytes{kMap}, TensorKind::Input);
  t.iteration(0);
  t.phase("forward");
  const auto index = t.allocate(Bytes{kMap}, TensorKind::Activation);
  const auto mask = t.allocate(Bytes{kMap}, TensorKind::Activation);
  t.kernel("max_pool", {.duration_ns = 1'000'000}, {reads(input), writes(index)});
  t.kernel("fused_dropout", {.duration_ns = 1'000'000}, {reads(input), writes(mask)});
  t.phase("backward");
  t.kernel("dropout_backward", {.duration_ns = 1'000'000}, {reads(input)});
  t.kernel("dropout_backward", {.duration_ns = 1'000'000}, {reads(mask)});
  t.kernel("max_pool_backward", {.duration_ns = 1'000'000}, {reads(index)});
  t.free(index);
  t.free(mask);
  const Profile profile =
      profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, {.budget = Bytes{100 * kMap}}).front();
  EXPECT_THAT(codecs_of(plan_by(*planner_named("gist_like"), profile)), ElementsAre(Pair(1, "pool_index")));
}

// With 19 % of zeros rows take 1.25 x 0.81 + 1/256 = 1.016 of the tensor. The lossless codecs leave all but signs.
TEST(GistLike, UsesRowsOnlyFromAFifthOfZerosOn) {
  Profile profile = five_layers();
  profile.sparsity = 0.19;
  EXPECT_EQ(codecs_of(plan_by(*planner_named("gist_like"), profile))[3], "dpr_fp16");
  const auto lossless = planner_named("gist_like");
  parameter<std::string>(*lossless, "precision") = "fp32";
  EXPECT_THAT(codecs_of(plan_by(*lossless, profile)), ElementsAre(Pair(1, "binarize")));
}

// Most is held when tensor 3 is encoded after kernel 3, and by kernel 4: three maps as they are, the input, tensor 4
// and one of 3 and 5; of tensor 1 1/32, of 2 a half; of 3, of which the second of two ReLUs left 26 % of 2^18 elements,
// 68'157 of 5 bytes and 4 bytes for each of 1024 rows. Without a plan kernel 4 holds six maps.
TEST(GistLike, HoldsTheEncodedMaps) {
  const Profile profile = five_layers();
  EXPECT_EQ(profile.peak(), 6 * kMap);
  const Plan plan = plan_by(*planner_named("gist_like"), profile);
  EXPECT_EQ(check_plan(*profile.graph, plan, {}).peak, 3 * kMap + kMap / 32 + kMap / 2 + 68'157 * 5 + 1024 * 4);
}

}  // namespace
}  // namespace uvmsim
