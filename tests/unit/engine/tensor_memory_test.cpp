// Explicit memory under a plan. One SimGrid engine per process: ctest runs every test alone.
//
// One GPU with room for two of the tensors of 51.2 MB (100 000 units of 512 bytes), copies in at 10 GB/s (5.12 ms), out
// at 20 GB/s (2.56 ms), four kernels of 10 ms:
//   k0 writes a, k1 writes b, k2 writes c, then c is freed, k3 reads a.
// When everything fits that is 40 ms.
#include "engine/swap_executor.h"

#include <gtest/gtest.h>

#include "engine/run.h"
#include "memory/allocator.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTensor = 51'200'000;

Machine one_gpu(std::int64_t memory) {
  Machine m;
  m.gpus.resize(1);
  m.gpus[0].usable_memory = Bytes{memory};
  const auto hop = [&](const std::string& name, const std::string& from, const std::string& to, std::int64_t down,
                       std::int64_t up) {
    LinkSpec link;
    link.name = link.kind = name;
    link.from = from;
    link.to = to;
    link.down = BytesPerSecond{down};
    link.up = BytesPerSecond{up};
    m.links.push_back(link);
  };
  hop("memory", "memory0", "socket0", 100'000'000'000, 100'000'000'000);
  hop("pcie", "socket0", "gpu0", 10'000'000'000, 20'000'000'000);
  return m;
}

Program four_kernels(int iterations, trace::Mode last, Duration launch) {
  trace::Header header;
  header.host_op_ns = launch.count() / 1000;
  TraceBuilder t(header);
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  for (int i = 0; i < iterations; ++i) {
    t.iteration(i);
    const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
    t.kernel("k0", kernel, {writes(a)});
    const auto b = t.allocate(Bytes{kTensor}, TensorKind::Activation);
    t.kernel("k1", kernel, {writes(b)});
    const auto c = t.allocate(Bytes{kTensor}, TensorKind::Activation);
    t.kernel("k2", kernel, {writes(c)});
    t.free(c);
    t.kernel("k3", kernel, {{.tensor = a, .mode = last}});
    t.free(a);
    t.free(b);
  }
  return place(t.take(), {.allocator = "none", .memory = "device", .kind = nullptr});
}

struct Setting {
  std::int64_t memory = 2 * kTensor;
  int iterations = 1;
  trace::Mode last = trace::Mode::Read;
  Duration launch{};
};

Result run_under(const std::vector<Plan>& plans, const Setting& setting = {}) {
  const Program program = four_kernels(setting.iterations, setting.last, setting.launch);
  const Process process{&program, {0}, &plans};
  return run(one_gpu(setting.memory), {&process, 1}, {.warmup = setting.iterations - 1, .progress = {}});
}

Plan plan_with(Disposition disposition) {
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}};
  disposition.bytes = kTensor;
  plan.dispositions = {std::move(disposition)};
  return plan;
}

// Swaps a out after kernel `out` and in after kernel 2.
Plan swap_a(Sync sync, std::int32_t out = 0) {
  return plan_with({.tensor = 0,
                    .last_use = 0,
                    .next_use = 3,
                    .kind = Disposition::Kind::Swap,
                    .out = {{Trigger::On::AfterKernel, out}, sync},
                    .in = {{Trigger::On::AfterKernel, 2}, Sync::Stream}});
}

void expect_ms(const Result& r, double milliseconds) {
  EXPECT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_NEAR(r.duration_s * 1e3, milliseconds, 1e-3);
}

TEST(SwapExecutor, NothingMovesWhenEverythingFits) {
  const Result r = run_under({}, {.memory = 3 * kTensor});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 0);
}

// a goes out from 10 to 12.56, beside k1; its bytes are c's from 20 on. It comes back when c is free, 30 to 35.12.
TEST(SwapExecutor, ASwapOverlapsTheKernelsInBetween) {
  const Result r = run_under({swap_a(Sync::Stream)});
  expect_ms(r, 45.12);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, kTensor);
  EXPECT_NEAR(r.gpus[0].time_split_s.transfer_s, 5.12e-3, 1e-6);
}

// Out after k1, 20 to 22.56: k2 waits for the bytes, to 32.56; in to 37.68.
TEST(SwapExecutor, AKernelWaitsForBytesThatAreStillLeaving) { expect_ms(run_under({swap_a(Sync::Stream, 1)}), 47.68); }

// The host may not launch k1 before 12.56, though the GPU could have run it at 10.
TEST(SwapExecutor, SyncHostHoldsUpTheLaunchesAfterTheCopy) { expect_ms(run_under({swap_a(Sync::Host)}), 47.68); }

// Launches of 1 ms: k0 1 to 11, k1 to 21, out 21 to 23.56. On the stream k2 starts then; a host that waits for the
// bytes launches it 1 ms later. Then 10 + 5.12 + 10.
TEST(SwapExecutor, SyncAllocHoldsUpTheHostAtTheAllocation) {
  expect_ms(run_under({swap_a(Sync::Stream, 1)}, {.launch = microseconds(1000)}), 48.68);
}
TEST(SwapExecutor, SyncAllocLaunchesTheKernelAfterTheWait) {
  expect_ms(run_under({swap_a(Sync::Alloc, 1)}, {.launch = microseconds(1000)}), 49.68);
}

// Layers end with k0 and k3: the host joins both streams at 12.56. With the layer's end at k1, at 20, nothing is late.
TEST(SwapExecutor, SyncLayerJoinsAtTheLayersEnd) {
  Plan plan = swap_a(Sync::Layer);
  plan.layer_ends = {0, 3};
  expect_ms(run_under({plan}), 47.68);
}
TEST(SwapExecutor, SyncLayerCostsNothingWhenTheLayerIsLonger) {
  Plan plan = swap_a(Sync::Layer);
  plan.layer_ends = {1, 3};
  expect_ms(run_under({plan}), 45.12);
}

// Out after k1 with nobody to wait for it: c's allocation reclaims b, out 22.56 to 25.12 behind a. k2 to 35.12, a in to
// 40.24, k3 to 50.24.
TEST(SwapExecutor, SyncNoneFallsBackToReclaim) {
  const Result r = run_under({swap_a(Sync::None, 1)});
  expect_ms(r, 50.24);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 2 * kTensor);
}

// No plan: c's allocation copies out a, idle longest, behind all work issued: 20 to 22.56. k3 asks for a, in to 37.68.
TEST(SwapExecutor, WithoutAPlanTensorsMoveOnDemand) { expect_ms(run_under({}), 47.68); }

// The second iteration copies a out when it becomes idle: as if it had been planned.
TEST(SwapExecutor, SpeculationCopiesOutWhatWasReclaimedAnIterationBefore) {
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}, .speculate = true};
  const Result r = run_under({plan}, {.iterations = 2});
  ASSERT_EQ(r.gpus[0].iteration_s.size(), 2u);
  EXPECT_NEAR(r.gpus[0].iteration_s[0] * 1e3, 47.68, 1e-3);
  EXPECT_NEAR(r.gpus[0].iteration_s[1] * 1e3, 45.12, 1e-3);
}

// Copied out beside k1, but kept until c needs the bytes; with room for all it never leaves.
TEST(SwapExecutor, ReleaseAtReclaimKeepsTheBytesUntilTheyAreNeeded) {
  Plan plan = swap_a(Sync::Stream);
  plan.dispositions[0].release = Disposition::Release::Reclaim;
  expect_ms(run_under({plan}), 45.12);
}
TEST(SwapExecutor, ReleaseAtReclaimNeedsNoCopyBackWhenThereIsRoom) {
  Plan plan = swap_a(Sync::Stream);
  plan.dispositions[0].release = Disposition::Release::Reclaim;
  const Result r = run_under({plan}, {.memory = 3 * kTensor});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

TEST(SwapExecutor, WhatIsOverwrittenIsDroppedWithoutACopy) {
  const Plan plan = plan_with({.tensor = 0,
                               .last_use = 0,
                               .next_use = 3,
                               .kind = Disposition::Kind::Drop,
                               .out = {{Trigger::On::AfterKernel, 0}}});
  const Result r = run_under({plan}, {.last = trace::Mode::Write});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes + r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

// k0 runs again before k3: 10 ms more, no copies.
TEST(SwapExecutor, RecomputeRunsTheKernelsAgain) {
  const Plan plan = plan_with({.tensor = 0,
                               .last_use = 0,
                               .next_use = 3,
                               .kind = Disposition::Kind::Recompute,
                               .out = {{Trigger::On::AfterKernel, 0}},
                               .kernels = {0}});
  const Result r = run_under({plan});
  expect_ms(r, 50);
  EXPECT_EQ(r.gpus[0].counts.kernels, 5);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

TEST(SwapExecutor, WithoutReclaimAnAllocationWithoutRoomEndsTheRun) {
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}, .reclaim = Reclaim::None};
  EXPECT_EQ(run_under({plan}).outcome, Outcome::OutOfMemory);
}

TEST(SwapExecutor, ATensorLargerThanTheMemoryEndsTheRun) {
  EXPECT_EQ(run_under({}, {.memory = kTensor - 512}).outcome, Outcome::OutOfMemory);
}

}  // namespace
}  // namespace uvmsim
