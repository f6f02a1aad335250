#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "support/golden_file.h"
#include "support/sample_result.h"

namespace uvmsim {
namespace {

using test::sample_result;
using testing::HasSubstr;
using testing::Not;

Report sample_report() {
  Result cuda_malloc = sample_result(), in_core = sample_result();
  cuda_malloc.duration_s = 2;
  in_core.duration_s = 2.5;
  return make_report(sample_result(), {.cuda_malloc = &cuda_malloc, .in_core = &in_core},
                     {.experiment = "sample",
                      .description = "two GPUs behind one link",
                      .assumptions = {{"/driver/version", "\"418.40\"", "assumed", "driver 418.40 behaves as 515"},
                                      {"/machine/gpu/sms", "80", "scaled", ""}}});
}

TEST(TextReport, IsTheCommittedText) {
  const std::string text = to_text(sample_report(), false);
  EXPECT_EQ(test::golden_file(std::string(UVMSIM_SOURCE_DIR) + "/tests/unit/report/sample_report.txt", text), text);
}

// 4 s of the batches' waiting over 2,000 faults, which brought in 16 MiB: 8 times 2 MiB.
TEST(TextReport, SaysWhatAFaultCosts) {
  Result result = sample_result();
  result.gpus.resize(1);
  result.gpus[0].counts = {};
  result.gpus[0].counts.serviced_faults = 2000;
  result.gpus[0].counts.h2d_bytes = 12 << 20;
  result.gpus[0].counts.populated_bytes = 4 << 20;
  result.gpus[0].time_split_s = {.fault_cpu_s = 1, .eviction_s = 1, .copy_in_s = 1.5, .link_wait_s = 0.5};
  EXPECT_THAT(to_text(make_report(result, {}, {}), false),
              HasSubstr("2,000 entries each made a page accessible (serviced faults): 2 ms a fault, 250 of them"));
}

// Two GPUs with one plan, which leaves too much for its 16.2 GB.
TEST(TextReport, SaysWhatThePlanIsAndThatItIsTooSmall) {
  Result result = sample_result();
  const PlanSummary plan{.gpu = "gpu0",
                         .planner = "g10",
                         .feasible = false,
                         .why = "28 intervals, 5.6 GB each way",
                         .budget_bytes = 16'200'000'000,
                         .actions = {{.what = "move", .count = 28, .bytes = 5'600'000'000}}};
  result.plan.plans = {plan, plan};
  result.plan.plans.back().gpu = "gpu1";
  result.plan.memories = {{.name = "gpu0", .bytes = 16'200'000'000}, {.name = "memory1", .bytes = 0}};
  const std::string text = to_text(make_report(result, {}, {}), false);
  EXPECT_THAT(text,
              HasSubstr("\nPlan\n  gpu0, gpu1: g10 (move 28, 5.6 GB): 28 intervals, 5.6 GB each way. What does not fit "
                        "leaves on\n  demand\n  held at most: gpu0 16.2 GB\n"));
}

TEST(TextReport, SaysNothingOfPlansWhereThereWereNone) {
  Result result = sample_result();
  result.plan = {};
  EXPECT_THAT(to_text(make_report(result, {}, {}), false), Not(HasSubstr("\nPlan\n")));
}

// Sixteen GPUs with the largest numbers a day of simulated time may give.
TEST(TextReport, FitsAHundredColumns) {
  Result result = sample_result();
  result.gpus.resize(16, result.gpus[0]);
  for (GpuResult& gpu : result.gpus) {
    gpu.name = "gpu15";
    gpu.counts.fault_batches = gpu.counts.fault_groups = 99'999'999;
    gpu.counts.fault_entries = gpu.counts.cpu_faults = gpu.counts.h2d_copies = gpu.counts.d2h_copies = 999'999'999;
    gpu.duration_s = gpu.time_split_s.compute_s = 1234.5;
  }
  result.links[0].name = "switch0-socket0-uplink down";
  std::istringstream lines(
      to_text(make_report(result, {.cuda_malloc = &result, .in_core = &result},
                          {.description = "a long description of nothing " + std::string(90, 'x')}),
              false));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

// 66 GB of 33 usable, 8 s where 2 would do.
TEST(TextReport, WarnsOfOversubscription) {
  Result result = sample_result(), cuda_malloc = sample_result();
  result.plan = {};
  cuda_malloc.duration_s = 2;
  RunContext context{.setup = {.usable_memory_bytes = 33'000'000'000, .memory = "managed"}};
  EXPECT_THAT(to_text(make_report(result, {.cuda_malloc = &cuda_malloc}, context), false),
              HasSubstr("\n  oversubscribed: 2 times the usable memory, 4 times as long as with cudaMalloc on large "
                        "enough\n  GPUs. `uvmsim advise` finds what to change\n"));
  context.setup.usable_memory_bytes = 66'000'000'000;
  EXPECT_THAT(to_text(make_report(result, {.cuda_malloc = &cuda_malloc}, context), false),
              Not(HasSubstr("oversubscribed")));
}

TEST(TextReport, WarnsOfWhatNobodyMeasuredInALineOfItsOwn) {
  Report report = sample_report();
  report.trust = Trust{.warnings = {"two GPUs", "managed memory"}};
  EXPECT_THAT(to_text(report, false), HasSubstr("\n  not validated: two GPUs\n  not validated: managed memory\n"));
}

// In core 2.4 s, of which the forward pass takes 0.8; copies of gpu1 wait for 0.3 s: turns pay from three iterations
// on.
TEST(TextReport, SaysFromWhichIterationsBetweenSumsOnTurnsCanPay) {
  Result result = sample_result(), in_core = sample_result();
  in_core.duration_s = 2.4;
  result.gpus[0].counts.swap_ns = result.gpus[1].counts.swap_ns = 1'000'000'000;
  result.gpus[1].counts.swap_contention_ns = 300'000'000;
  const std::string text = to_text(make_report(result, {.in_core = &in_core}, {}), false);
  EXPECT_THAT(text, HasSubstr("sharing costs at most 300 ms an iteration"));
  EXPECT_THAT(text, HasSubstr("n* = 3"));
  EXPECT_THAT(text, HasSubstr("plan.coordinator=priority below"));
}

TEST(TextReport, SaysWhyARunDidNotComplete) {
  Result result;
  result.outcome = Outcome::Deadlock;
  result.detail = "stream 0 of gpu0 waits for event 3";
  const std::string text = to_text(make_report(result, {}, {}), false);
  EXPECT_THAT(text, HasSubstr("did not complete: deadlock\n  stream 0 of gpu0 waits for event 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("throughput")));
}

TEST(TextReport, UsesEscapesOnlyInColour) {
  EXPECT_THAT(to_text(sample_report(), false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(sample_report(), true), HasSubstr("\x1b[1mWhere the time went"));
}

TEST(TextReport, LeavesOutLinksThatCarriedNothing) {
  const std::string text = to_text(sample_report(), false);
  EXPECT_THAT(text, HasSubstr("pcie0"));
  EXPECT_THAT(text, Not(HasSubstr("nvlink0-1")));
}

}  // namespace
}  // namespace uvmsim
