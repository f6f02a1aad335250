#include "plan/lower.h"

#include <gmock/gmock.h>

#include "support/under_plans.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;

// Each iteration: x is made by k0, read by k1 and k3, y made by k2. x's bytes are idle between k1 and k3.
trace::Trace net(int iterations) {
  TraceBuilder t({});
  for (int i = 0; i < iterations; ++i) {
    t.iteration(i);
    const auto x = t.allocate(Bytes{512}, TensorKind::Activation);
    t.kernel("k0", {.duration_ns = 1}, {writes(x)});
    t.kernel("k1", {.duration_ns = 1}, {reads(x)});
    const auto y = t.allocate(Bytes{512}, TensorKind::Activation);
    t.kernel("k2", {.duration_ns = 1}, {writes(y)});
    t.kernel("k3", {.duration_ns = 1}, {reads(x), reads(y)});
    t.free(x);
    t.free(y);
  }
  return t.take();
}

constexpr TensorInterval kX{0, 1, 3, 512};
Plan plan_with(std::vector<Action> actions) {
  return {.iteration = {.kernels = 4, .held = 0, .made = 2}, .actions = std::move(actions)};
}

std::vector<std::string> words(const Program& program) {
  std::vector<std::string> words;
  for (const Op& op : program.ops) {
    if (const auto* k = std::get_if<op::Kernel>(&op))
      words.push_back(program.strings[static_cast<std::size_t>(k->name)]);
    if (std::holds_alternative<op::MallocDevice>(op)) words.push_back("malloc");
    if (std::holds_alternative<op::FreeDevice>(op)) words.push_back("free");
    if (std::holds_alternative<op::Iteration>(op)) words.push_back("iteration");
    if (std::holds_alternative<op::UnderPlan>(op)) words.push_back("plan");
    if (const auto* o = std::get_if<op::SwapOut>(&op)) words.push_back(o->in_use ? "copy out" : "out");
    if (std::holds_alternative<op::SwapIn>(op)) words.push_back("in");
    if (std::holds_alternative<op::Drop>(op)) words.push_back("drop");
    if (const auto* r = std::get_if<op::Relaunch>(&op))
      words.push_back("again " +
                      program.strings[static_cast<std::size_t>(std::get<op::Kernel>(program.ops[r->kernel]).name)]);
    if (std::holds_alternative<op::HostCompute>(op)) words.push_back("host");
    if (std::holds_alternative<op::JoinLayer>(op)) words.push_back("join");
  }
  return words;
}

TEST(Lower, AMoveIsTwoOperations) {
  const Move move{.of = kX, .out = {{Trigger::On::AfterKernel, 1}}, .in = {{Trigger::On::BeforeKernel, 3}}};
  EXPECT_THAT(
      words(under_plans(net(1), {plan_with({move})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "k1", "out", "malloc", "k2", "in", "k3", "free", "free"));
}

TEST(Lower, ACopyDuringTheLastUseFreesTheBytesAfterIt) {
  const Move move{.of = kX, .out = {{Trigger::On::BeforeKernel, 1}}};
  EXPECT_THAT(
      words(under_plans(net(1), {plan_with({move})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "copy out", "k1", "out", "malloc", "k2", "k3", "free", "free"));
}

TEST(Lower, ASegmentDropsAndRunsAgain) {
  EXPECT_THAT(
      words(under_plans(net(1), {plan_with({Recompute{.before = 3, .kernels = {0}, .tensors = {kX}}})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "k1", "drop", "malloc", "k2", "again k0", "k3", "free", "free"));
}

// y has no memory yet while k0 runs again for k2.
TEST(Lower, ASegmentPrecedesTheAllocationsForItsKernel) {
  EXPECT_THAT(
      words(under_plans(net(1), {plan_with({Recompute{.before = 2, .kernels = {0}, .tensors = {kX}}})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "k1", "drop", "again k0", "malloc", "k2", "k3", "free", "free"));
}

// k2 does not use x: x leaves again before y comes. k3 uses it: it leaves after k3.
TEST(Lower, WhatIsDroppedAgainLeavesAfterItsLastUse) {
  EXPECT_THAT(
      words(under_plans(
          net(1), {plan_with({Recompute{.before = 2, .kernels = {0}, .tensors = {kX}, .keep = Recompute::Keep::Use},
                              Recompute{.before = 3, .kernels = {0}, .drop_again = {0}}})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "k1", "drop", "again k0", "drop", "malloc", "k2", "again k0",
                  "k3", "drop", "free", "free"));
}

// So do moves at that place: the segment may need what comes.
TEST(Lower, WhatMovesWhereASegmentRunsMovesBeforeIt) {
  trace::Trace trace = net(1);
  Plan plan =
      plan_with({Recompute{.before = 2, .kernels = {0}},
                 Move{.of = kX, .out = {{Trigger::On::AfterKernel, 1}}, .in = {{Trigger::On::BeforeKernel, 2}}}});
  EXPECT_THAT(words(under_plans(trace, {plan})), ElementsAre("iteration", "plan", "malloc", "k0", "k1", "out", "in",
                                                             "again k0", "malloc", "k2", "k3", "free", "free"));
}

TEST(Lower, WhatTheHostComputesIsNotLaunched) {
  EXPECT_THAT(
      words(under_plans(net(1), {plan_with({HostCompute{.kernels = {1}, .at = {Trigger::On::AfterKernel, 0}}})})),
      ElementsAre("iteration", "plan", "malloc", "k0", "host", "malloc", "k2", "k3", "free", "free"));
}

// y is used by k2 and k3 alone.
TEST(Lower, WhatOnlyTheHostUsesIsNotAllocated) {
  const Move move{.of = kX, .out = {{Trigger::On::AfterKernel, 1}}};
  const HostCompute compute{.kernels = {2, 3}, .at = {Trigger::On::BeforeKernel, 2}};
  EXPECT_THAT(words(under_plans(net(1), {plan_with({move, compute})})),
              ElementsAre("iteration", "plan", "malloc", "k0", "k1", "out", "host", "free"));
}

TEST(Lower, LayersEndOnlyForTransfersThatWaitForThem) {
  Plan plan = plan_with({Move{.of = kX, .out = {{Trigger::On::AfterKernel, 1}, Sync::Layer}}});
  plan.layer_ends = {1, 3};
  EXPECT_THAT(words(under_plans(net(1), {plan})), ElementsAre("iteration", "plan", "malloc", "k0", "k1", "out", "join",
                                                              "malloc", "k2", "k3", "join", "free", "free"));
}

// The second plan is for iterations from 1 on: the third iteration has it, too.
TEST(Lower, ALaterPlanReplacesAnEarlierOne) {
  Plan first = plan_with({}), second = plan_with({Drop{kX, {Trigger::On::AfterKernel, 1}}});
  second.first_iteration = 1;
  const std::vector<std::string> all = words(under_plans(net(3), {first, second}));
  EXPECT_EQ(std::ranges::count(all, "plan"), 3);
  EXPECT_EQ(std::ranges::count(all, "drop"), 2);
  const std::vector<Plan> plans = {first, second};
  EXPECT_EQ(plan_for(plans, GpuIndex{0}, first.iteration, 0), &plans[0]);
  EXPECT_EQ(plan_for(plans, GpuIndex{0}, first.iteration, 2), &plans[1]);
  EXPECT_EQ(plan_for(plans, GpuIndex{1}, first.iteration, 0), nullptr);
}

TEST(Lower, APlanForTensorsOfOtherSizesIsLeftOut) {
  Drop drop{kX, {Trigger::On::AfterKernel, 1}};
  drop.of.bytes = 1024;
  EXPECT_THAT(words(under_plans(net(1), {plan_with({drop})})),
              ElementsAre("iteration", "malloc", "k0", "k1", "malloc", "k2", "k3", "free", "free"));
}

// A captured program says that its memory is managed: under a plan on explicit memory it is cudaMalloc's.
TEST(Lower, ManagedMemoryBecomesExplicit) {
  TraceBuilder t({});
  t.iteration(0);
  t.append(trace::Alloc{.tensor = 7, .bytes = 512, .space = static_cast<std::int8_t>(trace::Space::Managed)});
  t.kernel("k", {.duration_ns = 1}, {writes(7)});
  EXPECT_THAT(words(under_plans(t.take(), {})), ElementsAre("iteration", "malloc", "k"));
}

}  // namespace
}  // namespace uvmsim
