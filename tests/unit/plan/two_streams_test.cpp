// Kernels on two streams: the GPU runs them one at a time, those that are ready first before the others.
#include <gmock/gmock.h>

#include "plan/kernel_ways.h"
#include "plan/lower_managed.h"
#include "plan/stream_clock.h"
#include "plan/swap_schedule.h"
#include "support/layer_chain.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kTensor = 64 << 20;
constexpr BytesPerSecond kRate{12'800'000'000};  // 64 MiB in 5.24288 ms
constexpr Duration kCopy = microseconds(5242.88);

constexpr Duration ms(double milliseconds) { return microseconds(milliseconds * 1000); }

trace::Kernel kernel_on(std::int32_t stream, std::int64_t ms) {
  return {.stream = stream, .duration_ns = ms * 1'000'000};
}

Profile profile(const trace::Trace& trace, std::int64_t budget = std::int64_t{1} << 40) {
  return profile_iterations(trace, DeviceOrdinal{0}, GpuIndex{0},
                            {.links = {kRate, kRate, {}}, .budget = Bytes{budget}})
      .back();
}

// Issued at once: a0 (10 ms) and a1 (10) on stream 0, b0 (30) and b1 (5) on stream 1. b0 is ready at 0 and a1 at 10,
// when a0 is over: b0 runs from 10 to 40, a1 until 50, b1 until 55. a0 writes x, which b1 reads; y is b0's alone.
trace::Trace two_by_two() {
  TraceBuilder t({});
  t.iteration(0);
  const auto x = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("a0", kernel_on(0, 10), {writes(x)});
  t.kernel("a1", kernel_on(0, 10), {});
  const auto y = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("b0", kernel_on(1, 30), {writes(y)});
  t.free(y);
  t.kernel("b1", kernel_on(1, 5), {reads(x)});
  t.free(x);
  return t.take();
}

TEST(TwoStreams, WhatIsReadyFirstRunsFirst) {
  const Profile p = profile(two_by_two());
  EXPECT_THAT(p.starts.all(), ElementsAre(Time{0}, ms(40), ms(10), ms(50)));
  EXPECT_THAT(p.starts.in_time(), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(p.length, ms(55));
  EXPECT_EQ(p.next_start(0), ms(10));
  EXPECT_EQ(p.next_start(3), ms(55));
}

// From kernel 2 on one starts at 10; up to kernel 1 not all have started before 40.
TEST(TwoStreams, LookUpsCountInTheOrderOfIssue) {
  const KernelStarts starts = profile(two_by_two()).starts;
  EXPECT_EQ(starts.first_from(Time{ms(10)}), 1);
  EXPECT_EQ(starts.first_from(Time{ms(11)}), 3);
  EXPECT_EQ(starts.first_from(Time{ms(51)}), 4);
  EXPECT_EQ(starts.last_until(Time{ms(39)}), 0);
  EXPECT_EQ(starts.last_until(Time{ms(40)}), 2);
  EXPECT_EQ(starts.reached(2), ms(40));
}

// x is idle from 10 to 50 ms. b0 is 20 ms shorter by another way: what starts after it does so earlier.
TEST(TwoStreams, IntervalsAndOtherWaysFollowTheTime) {
  const Profile p = profile(two_by_two());
  ASSERT_EQ(p.intervals.size(), 1u);
  EXPECT_EQ(p.intervals[0].gap, ms(40));
  trace::Trace with = two_by_two();
  with.variants.push_back({{.duration_ns = 10'000'000}});
  for (trace::Record& r : with.records)
    if (auto* k = std::get_if<trace::Kernel>(&r); k != nullptr && k->duration_ns == 30'000'000) k->variants = 0;
  const Profile shorter = profile_with(profile(with), {{.kernel = 2, .variant = 0}});
  EXPECT_THAT(shorter.starts.all(), ElementsAre(Time{0}, ms(20), ms(10), ms(30)));
  EXPECT_EQ(shorter.length, ms(35));
}

// Stream 0 reads x from 40 to 50 ms and again, issued last, from 50 on; stream 1 from 10 to 40. Between the first two
// uses in the order of issue, kernels 1 and 3, x is in use all the while: from 50 to 10.
TEST(TwoStreams, UsesThatOverlapLeaveNoGap) {
  TraceBuilder t({});
  const auto x = t.allocate(Bytes{kTensor}, TensorKind::Param);
  t.iteration(0);
  t.kernel("a0", kernel_on(0, 10), {});
  t.kernel("a1", kernel_on(0, 10), {reads(x)});
  t.kernel("a2", kernel_on(0, 10), {});
  t.kernel("b0", kernel_on(1, 30), {reads(x)});
  const Profile p = profile(t.take());
  ASSERT_EQ(p.intervals.size(), 2u);
  EXPECT_EQ(p.intervals[0].gap, Duration{0} - ms(40));
}

// Stream 1 waits for the event after a1 (20 ms); the host, for stream 1, until 50; then it launches a2.
TEST(TwoStreams, WaitForEventsAndTheHostForAStream) {
  TraceBuilder t({});
  t.iteration(0);
  t.kernel("a0", kernel_on(0, 10), {});
  t.kernel("a1", kernel_on(0, 10), {});
  t.append(trace::EventRecord{7, 0});
  t.append(trace::EventWait{7, 1});
  t.kernel("b0", kernel_on(1, 30), {});
  t.append(trace::Synchronize{1});
  t.kernel("a2", kernel_on(0, 10), {});
  const Profile p = profile(t.take());
  EXPECT_THAT(p.starts.all(), ElementsAre(Time{0}, ms(10), ms(20), ms(50)));
}

// 64 MiB come on stream 0 while b0 runs: a0 starts when b0 is over, at 10 ms, and not at 15.24288.
TEST(TwoStreams, ACopyRunsBesideTheOtherStreamsKernels) {
  TraceBuilder t({});
  t.iteration(0);
  t.copy({.stream = 0, .bytes = kTensor}, {});
  t.kernel("a0", kernel_on(0, 10), {});
  t.kernel("b0", kernel_on(1, 10), {});
  EXPECT_THAT(profile(t.take()).starts.all(), ElementsAre(ms(10), Time{0}));
}

// x leaves after a0 and comes back when b0 is over, at 40 ms, in time for b1 at 50. With room for one tensor b0 starts
// when x is gone, one copy late, and so does b1; x comes when y is free.
TEST(TwoStreams, APlansTimeIsThatOfEachStream) {
  const Profile p = profile(two_by_two());
  Plan plan = empty_plan(p, "one");
  plan.actions = {
      Move{.of = {0, 0, 3, kTensor}, .out = {{Trigger::On::AfterKernel, 0}}, .in = {{Trigger::On::AfterKernel, 2}}}};
  EXPECT_EQ(estimated_time(p, plan), p.length);
  EXPECT_EQ(estimated_time(profile(two_by_two(), kTensor), plan), p.length + kCopy);
}

// Stream 1 discards x after its use by b0; a1 on stream 0 was issued before and may still read it.
TEST(TwoStreams, ADiscardWaitsForUsersOnOtherStreams) {
  TraceBuilder t({});
  const auto x = t.allocate(Bytes{kTensor}, TensorKind::Param);
  t.iteration(0);
  t.kernel("a0", kernel_on(0, 10), {});
  t.kernel("a1", kernel_on(0, 10), {reads(x)});
  t.kernel("b0", kernel_on(1, 10), {reads(x)});
  t.kernel("b1", kernel_on(1, 10), {});
  t.kernel("b2", kernel_on(1, 10), {writes(x)});
  const trace::Trace trace = t.take();
  const Plan plan{.iteration = {.kernels = 5, .held = 1, .made = 0},
                  .actions = {Drop{{0, 2, 4, kTensor}, {Trigger::On::AfterKernel, 2}}}};
  const std::vector<InsertedCall> calls = lower_managed(trace, DeviceOrdinal{0}, {&plan, 1});
  ASSERT_EQ(calls.size(), 3u);
  const auto& record = std::get<trace::EventRecord>(calls[0].call);
  EXPECT_EQ(record.stream, 0);
  EXPECT_EQ(std::get<trace::EventWait>(calls[1].call), (trace::EventWait{record.event, 1}));
  EXPECT_EQ(std::get<trace::Discard>(calls[2].call).stream, 1);
}

}  // namespace
}  // namespace uvmsim
