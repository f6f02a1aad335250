// Several host threads. One SimGrid engine per process: ctest runs every test alone.
#include "engine/host_steps.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;

op::HostStep step(std::int32_t thread, double milliseconds) {
  return {.duration = microseconds(1000 * milliseconds), .operands = {}, .thread = thread};
}

// Thread 0 waits for `thread`.
op::HostStep join(std::int32_t thread, std::int32_t left = 0) {
  return {.duration = Duration{0}, .operands = {}, .thread = 0, .join = thread, .left = left};
}

// The iteration, on one GPU, of these operations and then a kernel of 10 ms.
double with_kernel(std::vector<Op> ops) {
  Program p = one_iteration();
  p.ops.insert(p.ops.end(), ops.begin(), ops.end());
  p.ops.push_back(kernel(0, 10));
  return run_on(star(1), p).duration_s;
}

class HostCalls final : public Observer {
 public:
  void host_call(const HostSpan& span) override { spans.push_back(span); }
  std::vector<HostSpan> spans;
};

// 0 to 5 ms on either thread, 0 to 10 ms on the GPU.
TEST(HostThreads, TwoOfFiveMillisecondsBesideAKernelOfTenTakeTen) {
  Program p = one_iteration();
  p.ops.insert(p.ops.end(), {step(1, 5), step(2, 5), kernel(0, 10)});
  HostCalls calls;
  RunOptions options;
  options.observer = &calls;
  EXPECT_NEAR(run_on(star(1), p, options).duration_s, 10e-3, 1e-8);
  ASSERT_EQ(calls.spans.size(), 2u);
  std::ranges::sort(calls.spans, {}, &HostSpan::thread);
  for (std::int32_t i = 0; i < 2; ++i) {
    const HostSpan& span = calls.spans[static_cast<std::size_t>(i)];
    EXPECT_EQ(span.thread, i + 1);
    EXPECT_EQ(span.begin, Time{});
    EXPECT_NEAR(seconds(span.end), 5e-3, 1e-8);
  }
}

// On thread 0 the kernel is launched after both.
TEST(HostThreads, StepsOfTheIssuingThreadHoldItUp) { EXPECT_NEAR(with_kernel({step(0, 5), step(0, 5)}), 20e-3, 1e-8); }

// Both end at 5 ms, the kernel runs from 5 to 15.
TEST(HostThreads, AJoinWaitsForTheThread) {
  EXPECT_NEAR(with_kernel({step(1, 5), step(2, 5), join(1), join(2)}), 15e-3, 1e-8);
}

TEST(HostThreads, StepsOfOneThreadFollowEachOther) {
  EXPECT_NEAR(with_kernel({step(1, 5), step(1, 5), join(1)}), 20e-3, 1e-8);
}

// The first of three steps ends at 5 ms; two may still be under way: the thread is done after 105 ms, the iteration
// after 15.
TEST(HostThreads, AJoinMayLeaveTheLatestSteps) {
  EXPECT_NEAR(with_kernel({step(1, 5), step(1, 50), step(1, 50), join(1, 2)}), 15e-3, 1e-8);
}

// Thread 2 starts at 5 ms and works until 7.
TEST(HostThreads, ThreadsWaitForEachOther) {
  op::HostStep second = step(2, 2);
  second.join = 1;
  EXPECT_NEAR(with_kernel({step(1, 5), second, join(2)}), 17e-3, 1e-8);
}

// Thread 0 works for 3 ms before it hands the step over: 3 to 8 ms.
TEST(HostThreads, AStepStartsWhenTheIssuingThreadComesToIt) {
  EXPECT_NEAR(with_kernel({step(0, 3), step(1, 5), join(1)}), 18e-3, 1e-8);
}

// 20 ms on thread 1 with an array of one page, which is freed meanwhile.
TEST(HostThreads, FreeWaitsForThoseThatMayTouchTheMemory) {
  Program p = one_iteration();
  p.operands.push_back({.address = kManagedBase, .bytes = 4096, .mode = trace::Mode::Write});
  op::HostStep touches = step(1, 20);
  touches.operands = {0, 1};
  p.ops.insert(p.ops.end(), {op::MallocManaged{kManagedBase, 4096}, touches, op::FreeManaged{kManagedBase}});
  p.ops.push_back(kernel(0, 10));
  Machine m = star(1);
  m.host.memory = Bytes{1 << 30};
  const Result r = run_on(m, p);
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_NEAR(r.duration_s, 30e-3, 1e-4);
  EXPECT_EQ(r.gpus.at(0).counts.cpu_faults, 1);
}

// Two threads write the same 4 MiB: of its 1024 pages none is faulted twice. Touching them takes 4 MiB / 10 GB/s = 0.42
// ms.
TEST(HostThreads, TwoMayTouchTheSamePages) {
  constexpr std::int64_t kSize = 4 << 20;
  Program p = one_iteration();
  p.operands.push_back({.address = kManagedBase, .bytes = kSize, .mode = trace::Mode::Write});
  p.ops.push_back(op::MallocManaged{kManagedBase, kSize});
  for (const std::int32_t thread : {1, 2}) {
    op::HostStep touches = step(thread, 0);
    touches.operands = {0, 1};
    p.ops.push_back(touches);
  }
  p.ops.insert(p.ops.end(), {join(1), join(2), kernel(0, 10)});
  Machine m = star(1);
  m.driver.uvm_perf_prefetch_enable = false;
  m.host.memory = Bytes{1 << 30};
  RunOptions options;
  options.audit = true;
  const Result r = run_on(m, p, options);
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_EQ(r.gpus.at(0).counts.cpu_faults, kSize / 4096);
  EXPECT_GE(r.duration_s, 10e-3 + 0.42e-3 - 1e-5);
}

}  // namespace
}  // namespace uvmsim
