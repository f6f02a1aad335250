// A chain of 16 layers: forward l makes the activation of layer l (1 MiB) from that of l - 1, backward l reads both.
// 15 places are crossed by one tensor (the last activation has no user in the forward pass), so lround(sqrt(15)) = 4
// segments, the last of which is kept.
#include <gmock/gmock.h>

#include "plan/no_services.h"
#include "plan/plan_checker.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr int kLayers = 16;

// `drawn`: a layer whose forward kernel draws random numbers; -1: none.
trace::Trace layers(int drawn = -1) {
  TraceBuilder t({});
  t.iteration(0);
  std::vector<trace::TensorId> made;
  t.phase("forward");
  for (int l = 0; l < kLayers; ++l) {
    made.push_back(t.allocate(Bytes{1 << 20}, TensorKind::Activation));
    std::vector<trace::Access> operands = {writes(made.back())};
    if (l > 0) operands.push_back(reads(made[static_cast<std::size_t>(l) - 1]));
    t.kernel(l == drawn ? "bernoulli_kernel" : "forward", {.duration_ns = 1000}, operands);
  }
  t.phase("backward");
  for (int l = kLayers; l-- > 0;) {
    std::vector<trace::Access> operands = {reads(made[static_cast<std::size_t>(l)])};
    if (l > 0) operands.push_back(reads(made[static_cast<std::size_t>(l) - 1]));
    t.kernel("backward", {.duration_ns = 2000}, operands);
    t.free(made[static_cast<std::size_t>(l)]);
  }
  return t.take();
}

TEST(ChenSqrtN, KeepsCheckpointsAndTheLastSegment) {
  const Profile profile = profile_iterations(layers(), DeviceOrdinal{0}, GpuIndex{0}, {}).back();
  EXPECT_EQ(profile.peak(), kLayers << 20);
  NoServices services;
  const Plan plan = planners().find("chen_sqrt_n")->make()->plan({&profile, 1}, services).front();
  ASSERT_EQ(plan.actions.size(), 3u);
  for (const Action& action : plan.actions) {
    const auto& segment = std::get<Recompute>(action);
    // Each tensor of a segment but its last one, which the next segment reads: a checkpoint.
    EXPECT_GE(segment.tensors.size(), 2u);
    EXPECT_EQ(segment.kernels.size(), segment.tensors.size());
  }
  const PlanProof proof = check_plan(*profile.graph, plan, {});
  EXPECT_TRUE(proof.errors.empty());
  EXPECT_LE(proof.peak, (kLayers / 2 + 1) << 20);
}

// Layer 1, inside the first segment, would draw other numbers: what it made stays, and layer 2 is made again of it. Of
// the three segments' kernels one is missing.
TEST(ChenSqrtN, WhatDrawsRandomNumbersStays) {
  NoServices services;
  std::size_t again[2] = {};
  for (const int drawn : {-1, 1}) {
    const Profile profile = profile_iterations(layers(drawn), DeviceOrdinal{0}, GpuIndex{0}, {}).back();
    const Plan plan = planners().find("chen_sqrt_n")->make()->plan({&profile, 1}, services).front();
    EXPECT_TRUE(check_plan(*profile.graph, plan, {}).errors.empty());
    for (const Action& action : plan.actions) again[drawn == 1] += std::get<Recompute>(action).kernels.size();
  }
  EXPECT_EQ(again[0], again[1] + 1);
}

// Each kernel of the forward pass makes 1 MiB for the backward pass. With more than 3 MiB in a segment the first ends
// after the fourth kernel, and so does each later one: 3, 7, 11. The 16th activation is no place, and kernels 12 to 15
// are kept: as many segments as above.
TEST(ChenSqrtN, SplitsByBytes) {
  const Profile profile = profile_iterations(layers(), DeviceOrdinal{0}, GpuIndex{0}, {}).back();
  NoServices services;
  const auto planner = planners().find("chen_sqrt_n")->make();
  parameter<std::string>(*planner, "split") = "bytes";
  parameter<Bytes>(*planner, "segment_bytes") = Bytes{3 << 20};
  const Plan plan = planner->plan({&profile, 1}, services).front();
  ASSERT_EQ(plan.actions.size(), 3u);
  EXPECT_EQ(std::get<Recompute>(plan.actions[0]).kernels, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(std::get<Recompute>(plan.actions[1]).kernels, (std::vector<std::int32_t>{4, 5, 6}));
}

// With each place a checkpoint these have 15 MiB and a segment has 1 MiB, so values from sqrt(15 / 2) = 2.7 to sqrt(15
// * 2) = 5.5 MiB are tried: segments of 3, 4, 5 or 6 kernels, all but the last of which run again. That is 5 * 2, 3 *
// 3, 3 * 4 or 2 * 5 of them: 9 are the least.
TEST(ChenSqrtN, SearchesForTheBytesOfASegment) {
  Profile profile = profile_iterations(layers(), DeviceOrdinal{0}, GpuIndex{0}, {}).back();
  profile.budget = Bytes{12 << 20};
  NoServices services;
  const auto planner = planners().find("chen_sqrt_n")->make();
  parameter<std::string>(*planner, "split") = "bytes";
  const Plan large = planner->plan({&profile, 1}, services).front();
  EXPECT_TRUE(large.feasible);
  EXPECT_EQ(large.actions.size(), 3u);
  profile.budget = Bytes{4 << 20};
  const Plan small = planner->plan({&profile, 1}, services).front();
  EXPECT_FALSE(small.feasible);
  EXPECT_LE(check_plan(*profile.graph, small, {}).peak, check_plan(*profile.graph, large, {}).peak);
}

}  // namespace
}  // namespace uvmsim
