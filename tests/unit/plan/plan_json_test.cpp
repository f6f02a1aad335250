#include "plan/plan_json.h"

#include <gmock/gmock.h>

#include "base/user_error.h"
#include "plan/lower_managed.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan sample() {
  Plan plan{.gpu = GpuIndex{1},
            .iteration = {.kernels = 10, .held = 2, .made = 3},
            .planner = "test",
            .feasible = false,
            .why = "because \"so\"",
            .budget = Bytes{1 << 30},
            .first_iteration = 2,
            .reclaim = "earliest",
            .speculate = true,
            .layer_ends = {2, 9}};
  plan.actions = {Move{.of = {0, 9, 1, 4096},
                       .to = "ssd0",
                       .out = {{Trigger::On::AfterKernel, 9}, Sync::Host},
                       .in = {{Trigger::On::Access, 0}, Sync::Layer},
                       .release = Move::Release::Reclaim,
                       .keep = true,
                       .codec = "zvc"},
                  Drop{{1, 2, 7, 12}, {Trigger::On::BeforeKernel, 4}},
                  Recompute{.before = 7,
                            .kernels = {1, 2},
                            .tensors = {{3, 2, 7, 12}, {4, 2, 8, 1}},
                            .keep = Recompute::Keep::Use,
                            .drop_again = {2}},
                  Recompute{.before = 8, .kernels = {0}},
                  Encode{{4, 3, 8, 100}, {Trigger::On::AfterKernel, 3}, {Trigger::On::BeforeKernel, 8}, "zvc"},
                  HostCompute{.kernels = {8, 9}, .at = {Trigger::On::AfterKernel, 7}, .cores = 4}};
  plan.variants = {{2, 1}, {9, 0}};
  plan.calls = {{.kind = Call::Kind::Prefetch,
                 .kernel = 3,
                 .tensor = 1,
                 .offset = 64,
                 .bytes = 128,
                 .to_cpu = true,
                 .stream = Call::Stream::Side,
                 .awaited_by = 5},
                {.kind = Call::Kind::Advise,
                 .kernel = 0,
                 .after = true,
                 .tensor = 4,
                 .advice = trace::Advice::AccessedBy,
                 .unset = true},
                {.kind = Call::Kind::DiscardLazy, .kernel = 9, .after = true, .tensor = 2}};
  return plan;
}

std::vector<InputError> errors_of(const std::string& text) {
  try {
    read_plans(text, "plan.json");
  } catch (const UserError& e) {
    return e.errors();
  }
  return {};
}

TEST(PlanJson, WhatIsWrittenReadsBackTheSame) {
  const PlanFile file{"net", {sample()}};
  const std::string text = to_json(file);
  const PlanFile back = read_plans(text, "plan.json");
  EXPECT_EQ(back.workload, "net");
  EXPECT_EQ(back.plans, file.plans);
  EXPECT_EQ(to_json(back), text);
}

TEST(PlanJson, AllFaultsAreReportedAtOnceWithWhatWasMeant) {
  const std::vector<InputError> errors = errors_of(R"({"version": 2, "plans": [{"gpu": 0,
    "iteration": {"kernels": 4, "held": 1, "made": 1},
    "actions": [{"action": "mave", "tensor": 0, "last_use": 0, "next_use": 2}],
    "calls": [{"kind": "prefetch", "kernal": 1, "kernel": -2, "tensor": 0}]}]})");
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_THAT(errors[0].place, HasSubstr("/plans/0/actions/0/action"));
  EXPECT_THAT(errors[0].message, HasSubstr("did you mean \"move\"?"));
  EXPECT_THAT(errors[1].place, HasSubstr("/plans/0/calls/0/kernal"));
  EXPECT_THAT(errors[1].message, HasSubstr("did you mean \"kernel\"?"));
  EXPECT_THAT(errors[2].place, HasSubstr("/plans/0/calls/0/kernel"));
}

TEST(PlanJson, OrdinalsStayInsideTheIteration) {
  const std::vector<InputError> errors = errors_of(R"({"version": 2, "plans": [{"gpu": 0,
    "iteration": {"kernels": 4, "held": 1, "made": 1},
    "actions": [{"action": "move", "tensor": 2, "last_use": 0, "next_use": 4},
                {"action": "drop", "tensor": 1, "last_use": 3, "next_use": 0}],
    "calls": [{"kind": "discard", "kernel": 4, "tensor": 0}]}]})");
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_THAT(errors[0].message, HasSubstr("2 is no tensor: the iteration has 2"));
  EXPECT_THAT(errors[1].place, HasSubstr("/plans/0/actions/0/next_use"));
  EXPECT_THAT(errors[2].message, HasSubstr("made anew in each iteration"));
  EXPECT_THAT(errors[3].message, HasSubstr("4 is no kernel"));
}

TEST(PlanJson, TwoPlansOfOneGpuNeedTwoShapes) {
  PlanFile file{"net", {sample(), sample()}};
  EXPECT_EQ(errors_of(to_json(file)).size(), 1u);
  file.plans[1].iteration.kernels = 11;
  EXPECT_TRUE(errors_of(to_json(file)).empty());
}

TEST(PlanJson, ADifferenceIsTheLinesThatOnlyOneHas) {
  const PlanFile a{"net", {sample()}};
  PlanFile b = a;
  EXPECT_TRUE(diff(a, b).empty());
  std::get<Move>(b.plans[0].actions[0]).out.sync = Sync::Stream;
  const std::vector<std::string> lines = diff(a, b);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("- gpu1 {\"action\":\"move\",\"tensor\":0"),
                                 HasSubstr("+ gpu1 {\"action\":\"move\",\"tensor\":0")));
}

// Version 1 had dispositions: a swap is a move, a recompute a segment that makes one tensor; kept intervals are
// nothing.
TEST(PlanJson, Version1IsStillRead) {
  const PlanFile file = read_plans(R"({"version": 1, "workload": "net", "plans": [{"gpu": 1,
    "iteration": {"kernels": 9, "held": 1, "made": 2}, "planner": "old", "reclaim": "none", "layer_ends": [8],
    "dispositions": [
      {"tensor": 0, "last_use": 8, "next_use": 2, "bytes": 512, "kind": "swap",
       "out": {"on": "after_kernel", "kernel": 8, "sync": "alloc"}, "in": {"on": "access"}, "release": "reclaim"},
      {"tensor": 1, "last_use": 3, "next_use": 5, "bytes": 512, "kind": "keep"},
      {"tensor": 1, "last_use": 5, "next_use": 7, "bytes": 512, "kind": "drop",
       "out": {"on": "after_kernel", "kernel": 5}},
      {"tensor": 2, "last_use": 1, "next_use": 6, "bytes": 1024, "kind": "recompute", "kernels": [0, 1]}],
    "calls": [{"kind": "discard", "kernel": 3, "when": "after", "tensor": 1}]}]})",
                                   "plan.json");
  ASSERT_EQ(file.plans.size(), 1u);
  const Plan& plan = file.plans[0];
  EXPECT_EQ(plan.gpu, GpuIndex{1});
  EXPECT_EQ(plan.reclaim, "none");
  EXPECT_THAT(plan.layer_ends, ElementsAre(8));
  ASSERT_EQ(plan.actions.size(), 3u);
  EXPECT_EQ(std::get<Move>(plan.actions[0]), (Move{.of = {0, 8, 2, 512},
                                                   .out = {{Trigger::On::AfterKernel, 8}, Sync::Alloc},
                                                   .in = {{Trigger::On::Access, 0}, Sync::Stream},
                                                   .release = Move::Release::Reclaim}));
  EXPECT_EQ(std::get<Drop>(plan.actions[1]), (Drop{{1, 5, 7, 512}, {Trigger::On::AfterKernel, 5}}));
  EXPECT_EQ(std::get<Recompute>(plan.actions[2]),
            (Recompute{.before = 6, .kernels = {0, 1}, .tensors = {{2, 1, 6, 1024}}}));
  ASSERT_EQ(plan.calls.size(), 1u);
  EXPECT_TRUE(plan.calls[0].after);
}

// A move is two prefetches on the side: out after kernel 2, in before kernel 6, which the use by kernel 8 waits for.
// A move in on demand is one on the kernel's own stream. A drop is a discard.
TEST(LowerManaged, ManagedMemoryGetsCalls) {
  Plan plan{.iteration = {10, 0, 3}};
  plan.actions = {
      Move{.of = {0, 2, 8, 0}, .out = {{Trigger::On::AfterKernel, 2}}, .in = {{Trigger::On::BeforeKernel, 6}}},
      Move{.of = {1, 3, 7, 0}, .out = {{Trigger::On::AfterKernel, 3}}, .in = {{Trigger::On::Access}}},
      Drop{{2, 4, 9, 0}, {Trigger::On::AfterKernel, 4}}};
  const Call out0{.kernel = 2, .after = true, .tensor = 0, .to_cpu = true, .stream = Call::Stream::Side};
  const Call out1{.kernel = 3, .after = true, .tensor = 1, .to_cpu = true, .stream = Call::Stream::Side};
  const Call drop{.kind = Call::Kind::Discard, .kernel = 4, .after = true, .tensor = 2};
  const Call in0{.kernel = 6, .tensor = 0, .stream = Call::Stream::Side, .awaited_by = 8};
  const Call in1{.kernel = 7, .tensor = 1};
  EXPECT_THAT(calls_of(plan), ElementsAre(out0, out1, drop, in0, in1));
}

}  // namespace
}  // namespace uvmsim
