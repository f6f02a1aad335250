#include "plan/plan_json.h"

#include <gmock/gmock.h>

#include "base/user_error.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan sample() {
  Plan plan{.gpu = 1,
            .iteration = {.kernels = 10, .held = 2, .made = 3},
            .planner = "test",
            .feasible = false,
            .why = "because \"so\"",
            .budget = Bytes{1 << 30},
            .reclaim = Reclaim::Earliest,
            .speculate = true,
            .layer_ends = {2, 9}};
  plan.dispositions = {{.tensor = 0,
                        .last_use = 9,
                        .next_use = 1,
                        .bytes = 4096,
                        .kind = Disposition::Kind::Swap,
                        .out = {{Trigger::On::AfterKernel, 9}, Sync::Host},
                        .in = {{Trigger::On::Access, 0}, Sync::Layer},
                        .release = Disposition::Release::Reclaim},
                       {.tensor = 3,
                        .last_use = 2,
                        .next_use = 7,
                        .bytes = 12,
                        .kind = Disposition::Kind::Recompute,
                        .out = {{Trigger::On::AfterKernel, 2}, Sync::None},
                        .in = {{Trigger::On::BeforeKernel, 7}, Sync::Alloc},
                        .kernels = {1, 2}},
                       {.tensor = 4,
                        .last_use = 3,
                        .next_use = 8,
                        .bytes = 100,
                        .kind = Disposition::Kind::Encode,
                        .codec = "zvc",
                        .encoded_bytes = 40}};
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
  const std::vector<InputError> errors = errors_of(R"({"version": 1, "plans": [{"gpu": 0,
    "iteration": {"kernels": 4, "held": 1, "made": 1},
    "dispositions": [{"tensor": 0, "last_use": 0, "next_use": 2, "kind": "swop"}],
    "calls": [{"kind": "prefetch", "kernal": 1, "kernel": -2, "tensor": 0}]}]})");
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_THAT(errors[0].place, HasSubstr("/plans/0/dispositions/0/kind"));
  EXPECT_THAT(errors[0].message, HasSubstr("did you mean \"swap\"?"));
  EXPECT_THAT(errors[1].place, HasSubstr("/plans/0/calls/0/kernal"));
  EXPECT_THAT(errors[1].message, HasSubstr("did you mean \"kernel\"?"));
  EXPECT_THAT(errors[2].place, HasSubstr("/plans/0/calls/0/kernel"));
}

TEST(PlanJson, OrdinalsStayInsideTheIteration) {
  const std::vector<InputError> errors = errors_of(R"({"version": 1, "plans": [{"gpu": 0,
    "iteration": {"kernels": 4, "held": 1, "made": 1},
    "dispositions": [{"tensor": 2, "last_use": 0, "next_use": 4, "kind": "swap"},
                     {"tensor": 1, "last_use": 3, "next_use": 0, "kind": "drop"}],
    "calls": [{"kind": "discard", "kernel": 4, "tensor": 0}]}]})");
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_THAT(errors[0].message, HasSubstr("2 is no tensor: the iteration has 2"));
  EXPECT_THAT(errors[1].place, HasSubstr("/plans/0/dispositions/0/next_use"));
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
  b.plans[0].dispositions[0].out.sync = Sync::Stream;
  const std::vector<std::string> lines = diff(a, b);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("- gpu1 {\"tensor\":0"), HasSubstr("+ gpu1 {\"tensor\":0")));
}

// A swap is two prefetches on the side: out after kernel 2, in before kernel 6, which the use by kernel 8 waits for.
// A swap in on demand is one on the kernel's own stream. A drop is a discard.
TEST(Plan, ManagedMemoryGetsCalls) {
  Plan plan{.iteration = {10, 0, 3}};
  plan.dispositions = {{.tensor = 0,
                        .last_use = 2,
                        .next_use = 8,
                        .kind = Disposition::Kind::Swap,
                        .out = {{Trigger::On::AfterKernel, 2}},
                        .in = {{Trigger::On::BeforeKernel, 6}}},
                       {.tensor = 1,
                        .last_use = 3,
                        .next_use = 7,
                        .kind = Disposition::Kind::Swap,
                        .out = {{Trigger::On::AfterKernel, 3}},
                        .in = {{Trigger::On::Access}}},
                       {.tensor = 2,
                        .last_use = 4,
                        .next_use = 9,
                        .kind = Disposition::Kind::Drop,
                        .out = {{Trigger::On::AfterKernel, 4}}}};
  const Call out0{.kernel = 2, .after = true, .tensor = 0, .to_cpu = true, .stream = Call::Stream::Side};
  const Call out1{.kernel = 3, .after = true, .tensor = 1, .to_cpu = true, .stream = Call::Stream::Side};
  const Call drop{.kind = Call::Kind::Discard, .kernel = 4, .after = true, .tensor = 2};
  const Call in0{.kernel = 6, .tensor = 0, .stream = Call::Stream::Side, .awaited_by = 8};
  const Call in1{.kernel = 7, .tensor = 1};
  EXPECT_THAT(calls_of(plan), ElementsAre(out0, out1, drop, in0, in1));
}

}  // namespace
}  // namespace uvmsim
