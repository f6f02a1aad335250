// Explicit memory under a plan. One SimGrid engine per process: ctest runs every test alone.
//
// One GPU with room for two of the tensors of 51.2 MB (100 000 units of 512 bytes), copies in at 10 GB/s (5.12 ms), out
// at 20 GB/s (2.56 ms), four kernels of 10 ms:
//   k0 writes a, k1 writes b, k2 writes c, then c is freed, k3 reads a.
// When everything fits that is 40 ms.
#include "engine/tensor_memory.h"

#include <gtest/gtest.h>

#include "engine/run.h"
#include "machine/memory_nodes.h"
#include "support/under_plans.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kTensor = 51'200'000;

Machine one_gpu(std::int64_t memory) {
  Machine m;
  m.gpus.resize(1);
  m.gpus[GpuIndex{0}].usable_memory = Bytes{memory};
  m.gpus[GpuIndex{0}].memory_bandwidth = BytesPerSecond{768'000'000'000};
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

// `m` with `dram` bytes of host memory and an SSD of 1 GiB that reads 5 GB/s and writes 2.5.
Machine with_ssd(Machine m, std::int64_t dram) {
  LinkSpec link = m.links.front();
  link.name = "ssd";
  link.from = "socket0";
  link.to = "ssd0";
  m.links.push_back(link);
  m.memories.push_back({.name = "memory0", .kind = "dram", .node = "memory0", .capacity = Bytes{dram}});
  m.memories.push_back({.name = "ssd0",
                        .kind = "ssd",
                        .node = "ssd0",
                        .capacity = Bytes{1 << 30},
                        .read = BytesPerSecond{5'000'000'000},
                        .write = BytesPerSecond{2'500'000'000}});
  return m;
}

trace::Trace four_kernels(int iterations, trace::Mode last, Duration launch) {
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
  return t.take();
}

struct Setting {
  std::int64_t memory = 2 * kTensor;
  int iterations = 1;
  trace::Mode last = trace::Mode::Read;
  Duration launch{};
  std::int64_t host_memory = 1 << 30;
  std::string allocator = {};  // "": tensors are counted
};

Result run_trace(const trace::Trace& trace, const std::vector<Plan>& plans, const Setting& setting) {
  const Program program = under_plans(trace, plans);
  const auto allocator = setting.allocator.empty() ? nullptr : allocators().find(setting.allocator)->make();
  const Process process{&program, {GpuIndex{0}}, true, allocator.get()};
  Machine machine = one_gpu(setting.memory);
  machine.host.memory = Bytes{setting.host_memory};
  return run(machine, {&process, 1}, {.warmup = setting.iterations - 1, .progress = {}});
}

Result run_under(const std::vector<Plan>& plans, const Setting& setting = {}) {
  return run_trace(four_kernels(setting.iterations, setting.last, setting.launch), plans, setting);
}

Plan plan_with(Action action) {
  return {.iteration = {.kernels = 4, .held = 0, .made = 3}, .actions = {std::move(action)}};
}

constexpr TensorInterval kOfA{.tensor = 0, .last_use = 0, .next_use = 3, .bytes = kTensor};

// Swaps a out after kernel `out` and in after kernel 2.
Plan swap_a(Sync sync, std::int32_t out = 0) {
  return plan_with(Move{
      .of = kOfA, .out = {{Trigger::On::AfterKernel, out}, sync}, .in = {{Trigger::On::AfterKernel, 2}, Sync::Stream}});
}

void expect_ms(const Result& r, double milliseconds) {
  EXPECT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_NEAR(r.duration_s * 1e3, milliseconds, 1e-3);
}

TEST(TensorMemory, NothingMovesWhenEverythingFits) {
  const Result r = run_under({}, {.memory = 3 * kTensor});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 0);
}

// a goes out from 10 to 12.56, beside k1; its bytes are c's from 20 on. It comes back when c is free, 30 to 35.12.
TEST(TensorMemory, ASwapOverlapsTheKernelsInBetween) {
  const Result r = run_under({swap_a(Sync::Stream)});
  expect_ms(r, 45.12);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, kTensor);
  EXPECT_NEAR(r.gpus[0].time_split_s.transfer_s, 5.12e-3, 1e-6);
}

// Out after k1, 20 to 22.56: k2 waits for the bytes, to 32.56; in to 37.68.
TEST(TensorMemory, AKernelWaitsForBytesThatAreStillLeaving) { expect_ms(run_under({swap_a(Sync::Stream, 1)}), 47.68); }

// The host may not launch k1 before 12.56, though the GPU could have run it at 10.
TEST(TensorMemory, SyncHostHoldsUpTheLaunchesAfterTheCopy) { expect_ms(run_under({swap_a(Sync::Host)}), 47.68); }

// Launches of 1 ms: k0 1 to 11, k1 to 21, out 21 to 23.56. On the stream k2 starts then; a host that waits for the
// bytes launches it 1 ms later. Then 10 + 5.12 + 10.
TEST(TensorMemory, SyncAllocHoldsUpTheHostAtTheAllocation) {
  expect_ms(run_under({swap_a(Sync::Stream, 1)}, {.launch = microseconds(1000)}), 48.68);
}
TEST(TensorMemory, SyncAllocLaunchesTheKernelAfterTheWait) {
  expect_ms(run_under({swap_a(Sync::Alloc, 1)}, {.launch = microseconds(1000)}), 49.68);
}

// Layers end with k0 and k3: the host joins both streams at 12.56. With the layer's end at k1, at 20, nothing is late.
TEST(TensorMemory, SyncLayerJoinsAtTheLayersEnd) {
  Plan plan = swap_a(Sync::Layer);
  plan.layer_ends = {0, 3};
  expect_ms(run_under({plan}), 47.68);
}
TEST(TensorMemory, SyncLayerCostsNothingWhenTheLayerIsLonger) {
  Plan plan = swap_a(Sync::Layer);
  plan.layer_ends = {1, 3};
  expect_ms(run_under({plan}), 45.12);
}

// Out after k1 with nobody to wait for it: c's allocation reclaims b, out 22.56 to 25.12 behind a. k2 to 35.12, a in to
// 40.24, k3 to 50.24.
TEST(TensorMemory, SyncNoneFallsBackToReclaim) {
  const Result r = run_under({swap_a(Sync::None, 1)});
  expect_ms(r, 50.24);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 2 * kTensor);
}

// No plan: c's allocation copies out a, idle longest, behind all work issued: 20 to 22.56. k3 asks for a, in to 37.68.
TEST(TensorMemory, WithoutAPlanTensorsMoveOnDemand) { expect_ms(run_under({}), 47.68); }

// The second iteration copies a out when it becomes idle: as if it had been planned.
TEST(TensorMemory, SpeculationCopiesOutWhatWasReclaimedAnIterationBefore) {
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}, .speculate = true};
  const Result r = run_under({plan}, {.iterations = 2});
  ASSERT_EQ(r.gpus[0].iteration_s.size(), 2u);
  EXPECT_NEAR(r.gpus[0].iteration_s[0] * 1e3, 47.68, 1e-3);
  EXPECT_NEAR(r.gpus[0].iteration_s[1] * 1e3, 45.12, 1e-3);
}

// Copied out beside k1, but kept until c needs the bytes; with room for all it never leaves.
TEST(TensorMemory, ReleaseAtReclaimKeepsTheBytesUntilTheyAreNeeded) {
  Plan plan = swap_a(Sync::Stream);
  std::get<Move>(plan.actions[0]).release = Move::Release::Reclaim;
  expect_ms(run_under({plan}), 45.12);
}
TEST(TensorMemory, ReleaseAtReclaimNeedsNoCopyBackWhenThereIsRoom) {
  Plan plan = swap_a(Sync::Stream);
  std::get<Move>(plan.actions[0]).release = Move::Release::Reclaim;
  const Result r = run_under({plan}, {.memory = 3 * kTensor});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

TEST(TensorMemory, WhatIsOverwrittenIsDroppedWithoutACopy) {
  const Plan plan = plan_with(Drop{kOfA, {Trigger::On::AfterKernel, 0}});
  const Result r = run_under({plan}, {.last = trace::Mode::Write});
  expect_ms(r, 40);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes + r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

// k0 runs again before k3: 10 ms more, no copies.
TEST(TensorMemory, RecomputeRunsTheKernelsAgain) {
  const Plan plan = plan_with(Recompute{.before = 3, .kernels = {0}, .tensors = {kOfA}});
  const Result r = run_under({plan});
  expect_ms(r, 50);
  EXPECT_EQ(r.gpus[0].counts.kernels, 5);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

// k0 writes a and b of 51.2 MB, k1 writes c of twice that, k2 reads a and b; room for two units. a goes to host memory
// and b to an SSD, each at 10 GB/s (5.12 ms) over a link of their own, through 40 GB/s of the GPU's.
Result run_to_two_nodes(int engines, bool own_dma, std::int64_t host_memory = 1 << 30) {
  Machine m = one_gpu(2 * kTensor);
  m.gpus[GpuIndex{0}].copy.engines = engines;
  for (LinkSpec& link : m.links)
    link.down = link.up = BytesPerSecond{link.name == "pcie" ? 40'000'000'000 : 10'000'000'000};
  m.links.push_back(m.links[0]);
  m.links.back().name = m.links.back().kind = "ssd";
  m.links.back().from = "socket0", m.links.back().to = "ssd0";
  m.host.memory = Bytes{host_memory};
  m.memories = {{.name = "ssd0", .kind = "ssd", .node = "ssd0", .capacity = Bytes{1 << 30}}};
  m.memories[0].own_dma = own_dma;
  for (const MemoryNode& node : unlisted_memories(m)) m.memories.push_back(node);
  TraceBuilder t({});
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  t.iteration(0);
  const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  const auto b = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k0", kernel, {writes(a), writes(b)});
  const auto c = t.allocate(Bytes{2 * kTensor}, TensorKind::Activation);
  t.kernel("k1", kernel, {writes(c)});
  t.free(c);
  t.kernel("k2", kernel, {reads(a), reads(b)});
  const auto away = [](std::int32_t tensor, const std::string& to) {
    return Move{.of = {tensor, 0, 2, kTensor},
                .to = to,
                .out = {{Trigger::On::AfterKernel, 0}},
                .in = {{Trigger::On::AfterKernel, 1}}};
  };
  const Plan plan{.iteration = {.kernels = 3, .held = 0, .made = 3}, .actions = {away(0, ""), away(1, "ssd0")}};
  const Program program = under_plans(t.take(), {plan});
  const Process process{&program, {GpuIndex{0}}, true};
  return run(m, {&process, 1}, {.progress = {}});
}

// k0 to 10, two copies to 20.24, k1 to 30.24, two copies to 40.48, k2.
TEST(TensorMemory, OneEngineCopiesToTwoNodesOneAfterTheOther) { expect_ms(run_to_two_nodes(1, false), 50.48); }
// Both copies take 5.12 at once.
TEST(TensorMemory, TwoEnginesCopyToTwoNodesAtOnce) { expect_ms(run_to_two_nodes(2, false), 40.24); }
TEST(TensorMemory, AnSsdWithItsOwnDmaCopiesNextToTheEngine) { expect_ms(run_to_two_nodes(1, true), 40.24); }
// Host memory takes neither: both go to the SSD, one after the other.
TEST(TensorMemory, WhatThePlanMovesToAFullNodeGoesToAnotherOfThePlan) {
  expect_ms(run_to_two_nodes(1, true, kTensor - 512), 50.48);
}

trace::Kernel on_stream(std::int32_t stream) { return {.stream = stream, .duration_ns = 10'000'000}; }

// Stream 0 makes a until 10 ms and works until 20; a comes back from 20 to 25.12 ms. k2 on stream 1 reads it until
// 35.12, k3 on stream 0 after that until 45.12: it waits for the copy, too.
TEST(TensorMemory, EachStreamWaitsForWhatComes) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k0", on_stream(0), {writes(a)});
  t.kernel("k1", on_stream(0), {});
  t.kernel("k2", on_stream(1), {reads(a)});
  t.kernel("k3", on_stream(0), {reads(a)});
  const Plan plan{
      .iteration = {.kernels = 4, .held = 0, .made = 1},
      .actions = {Move{
          .of = {0, 0, 2, kTensor}, .out = {{Trigger::On::AfterKernel, 0}}, .in = {{Trigger::On::AfterKernel, 1}}}}};
  expect_ms(run_trace(t.take(), {plan}, {}), 45.12);
}

// Room for one tensor. Stream 0 makes a until 10 ms and reads it until 20. Stream 1 copies 204.8 MB until 20.48 ms and
// then reads a until 30.48, though that is issued first: then c has its bytes.
TEST(TensorMemory, BytesAreFreeOnceAllStreamsAreDoneWithThem) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k0", on_stream(0), {writes(a)});
  t.copy({.stream = 1, .bytes = 4 * kTensor}, {});
  t.kernel("k1", on_stream(1), {reads(a)});
  t.kernel("k2", on_stream(0), {reads(a)});
  t.free(a);
  const auto c = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k3", on_stream(0), {writes(c)});
  expect_ms(run_trace(t.take(), {}, {.memory = kTensor}), 40.48);
}

TEST(TensorMemory, WithoutReclaimAnAllocationWithoutRoomEndsTheRun) {
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}, .reclaim = "none"};
  EXPECT_EQ(run_under({plan}).outcome, Outcome::OutOfMemory);
}

// k1 in 4 ms instead of 10, in a workspace of two units next to a and b.
TEST(TensorMemory, AVariantTakesItsTimeAndItsWorkspace) {
  trace::Trace trace = four_kernels(1, trace::Mode::Read, {});
  trace.variants = {{{.duration_ns = 4'000'000, .workspace = 2 * kTensor}}};
  for (trace::Record& record : trace.records)
    if (auto* kernel = std::get_if<trace::Kernel>(&record)) kernel->variants = 0;
  Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 3}, .reclaim = "none", .variants = {{1, 0}}};
  const Result r = run_trace(trace, {plan}, {.memory = 4 * kTensor});
  expect_ms(r, 34);
  EXPECT_EQ(r.plan.memories[0].bytes, 4 * kTensor);
}

// k0 runs again before k3, in its variant: 3 + 10 + 10 + 3 + 10. Its workspace comes twice.
TEST(TensorMemory, AVariantRunsAgainAsItRan) {
  trace::Trace trace = four_kernels(1, trace::Mode::Read, {});
  trace.variants = {{{.duration_ns = 3'000'000, .workspace = kTensor}}};
  std::get<trace::Kernel>(*std::ranges::find_if(trace.records, [](const trace::Record& r) {
    return std::holds_alternative<trace::Kernel>(r);
  })).variants = 0;
  Plan plan = plan_with(Recompute{.before = 3, .kernels = {0}, .tensors = {kOfA}});
  plan.variants = {{0, 0}};
  plan.reclaim = "none";
  const Result r = run_trace(trace, {plan}, {.memory = 3 * kTensor});
  expect_ms(r, 36);
  EXPECT_EQ(r.plan.memories[0].bytes, 3 * kTensor);
}

TEST(TensorMemory, ATensorLargerThanTheMemoryEndsTheRun) {
  EXPECT_EQ(run_under({}, {.memory = kTensor - 512}).outcome, Outcome::OutOfMemory);
}

// Room for one tensor: k0 writes a, k1 writes b, k2 uses a, k3 writes c, k4 reads a; b and c live for a kernel. a is
// away while they are there.
trace::Trace away_twice(trace::Mode k2) {
  TraceBuilder t({});
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  t.iteration(0);
  const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k0", kernel, {writes(a)});
  const auto b = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k1", kernel, {writes(b)});
  t.free(b);
  t.kernel("k2", kernel, {{.tensor = a, .mode = k2}});
  const auto c = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k3", kernel, {writes(c)});
  t.free(c);
  t.kernel("k4", kernel, {reads(a)});
  t.free(a);
  return t.take();
}

Result run_away_twice(bool keep, trace::Mode k2) {
  const auto away = [&](std::int32_t from) {
    return Move{.of = {0, from, from + 2, kTensor},
                .out = {{Trigger::On::AfterKernel, from}},
                .in = {{Trigger::On::AfterKernel, from + 1}},
                .keep = keep};
  };
  const Plan plan{.iteration = {.kernels = 5, .held = 0, .made = 3}, .reclaim = "none", .actions = {away(0), away(2)}};
  return run_trace(away_twice(k2), {plan}, {.memory = kTensor});
}

// k0 to 10, out to 12.56, k1 to 22.56, in to 27.68, k2 to 37.68; then the same again.
TEST(TensorMemory, WithoutKeepEachWayOutIsACopy) {
  const Result r = run_away_twice(false, trace::Mode::Read);
  expect_ms(r, 65.36);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 2 * kTensor);
}
// The second way out takes no time.
TEST(TensorMemory, WhatIsKeptIsCopiedOutOnce) {
  const Result r = run_away_twice(true, trace::Mode::Read);
  expect_ms(r, 62.8);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 2 * kTensor);
  EXPECT_EQ(r.plan.memories[1].bytes, kTensor);
}
TEST(TensorMemory, WhatIsWrittenIsCopiedOutAgain) { expect_ms(run_away_twice(true, trace::Mode::ReadWrite), 65.36); }

// The plan says more than it does: nothing makes a again. k3 finds nothing there.
TEST(TensorMemory, AKernelThatNeedsDroppedContentsEndsTheRun) {
  const Result r = run_under({plan_with(Drop{kOfA, {Trigger::On::AfterKernel, 0}})});
  EXPECT_EQ(r.outcome, Outcome::ContentsLost);
  EXPECT_EQ(r.detail, "GPU 0: kernel k3 uses a tensor of 51200000 bytes, but its contents were dropped");
}

// k1 makes b, not a.
TEST(TensorMemory, ASegmentThatMakesSomethingElseEndsTheRun) {
  const Result r = run_under({plan_with(Recompute{.before = 3, .kernels = {1}, .tensors = {kOfA}})});
  EXPECT_EQ(r.outcome, Outcome::ContentsLost);
}

// a is copied out while k0 writes it: refused by the checker, so lowered as after it. While k1 runs, which uses b only,
// the copy is at 10 to 12.56 as ever; the bytes are free for c.
TEST(TensorMemory, TheMostThatTensorsHeldIsReported) {
  const Result r = run_under({swap_a(Sync::Stream)});
  ASSERT_EQ(r.plan.memories.size(), 2u);
  EXPECT_EQ(r.plan.memories[0].name, "gpu0");
  EXPECT_EQ(r.plan.memories[0].bytes, 2 * kTensor);
  EXPECT_EQ(r.plan.memories[1].bytes, kTensor);  // a, in host memory
}

// Kernels of 10 ms each find 1, 2, 3 and 2 tensors.
TEST(TensorMemory, WhatTensorsHeldIsReportedAsAMeanOverKernels) {
  const Result r = run_under({}, {.memory = 3 * kTensor});
  ASSERT_EQ(r.plan.means.size(), 1u);
  EXPECT_EQ(r.plan.means[0].name, "gpu0");
  EXPECT_DOUBLE_EQ(r.plan.means[0].bytes, 2.0 * kTensor);
}

// Without a, between its uses, 1, 1, 2 and 2.
TEST(TensorMemory, WhatIsSwappedOutDoesNotCountInTheMean) {
  const Result r = run_under({swap_a(Sync::Stream)});
  EXPECT_DOUBLE_EQ(r.plan.means.at(0).bytes, 1.5 * kTensor);
}

// A codec of the CPU: a is copied as it is, out from 10 to 12.56; then a host thread encodes 51.2 MB at 8 GB/s, 6.4 ms,
// and the host holds 1/32 + 1/2 of it. At 30 the thread decodes, to 36.4; the copy in ends at 41.52, k3 at 51.52.
TEST(TensorMemory, ACodecOfTheCpuWorksInHostMemory) {
  Plan plan = swap_a(Sync::Stream);
  auto& move = std::get<Move>(plan.actions[0]);
  move.codec = "zvc_cpu";
  move.sparsity = 0.5;
  const Result r = run_under({plan});
  expect_ms(r, 51.52);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, kTensor);
  EXPECT_EQ(r.plan.memories[1].bytes, kTensor / 32 + kTensor / 2);
}

// A codec of kernels, and memory of 768 GB/s: after k0 one reads a and writes half of it, 0.1 ms, which delays k1. 25.6
// MB leave while k1 runs. They come back from 30.1 on, in 2.56 ms, and another 0.1 ms make a of them: k3 ends at 42.76.
TEST(TensorMemory, ACodecOfKernelsStealsTheirTime) {
  Plan plan = swap_a(Sync::Stream);
  std::get<Move>(plan.actions[0]).codec = "dpr_fp16";
  const Result r = run_under({plan}, {.memory = 3 * kTensor});
  expect_ms(r, 42.76);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor / 2);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, kTensor / 2);
  EXPECT_EQ(r.plan.memories[1].bytes, kTensor / 2);
}

// As above with a copy in that is 5.12 ms late: it begins at 30, when c is freed, and k3 is ready then.
TEST(TensorMemory, TheStallAndLatenessOfAnActionAreReported) {
  const Result r = run_under({swap_a(Sync::Stream)});
  ASSERT_EQ(r.plan.actions.size(), 1u);
  EXPECT_EQ(r.plan.actions[0].action, 0);
  EXPECT_NEAR(r.plan.actions[0].stall_s, 5.12e-3, 1e-6);
  EXPECT_NEAR(r.plan.actions[0].lateness_s, 5.12e-3, 1e-6);
}

// k1 and k2 update a by way of c, which nothing else uses; the CPU does that with 2 threads of 10 GB/s. There is room
// for one tensor: c is never on the GPU.
Result run_on_host(Machine machine, const std::string& node) {
  TraceBuilder t({});
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  t.iteration(0);
  const auto a = t.allocate(Bytes{kTensor}, TensorKind::Activation);
  t.kernel("k0", kernel, {writes(a)});
  const auto c = t.allocate(Bytes{kTensor}, TensorKind::Workspace);
  t.kernel("k1", kernel, {reads(a), writes(c)});
  t.kernel("k2", kernel, {updates(a), reads(c)});
  t.free(c);
  t.kernel("k3", kernel, {reads(a)});
  t.free(a);
  const Plan plan{.iteration = {.kernels = 4, .held = 0, .made = 2},
                  .actions = {Move{.of = {0, 0, 1, kTensor}, .to = node, .out = {{Trigger::On::AfterKernel, 0}}},
                              Move{.of = {0, 2, 3, kTensor},
                                   .to = node,
                                   .out = {{Trigger::On::AfterKernel, 2}},
                                   .in = {{Trigger::On::AfterKernel, 2}}},
                              HostCompute{.kernels = {1, 2}, .at = {Trigger::On::BeforeKernel, 1}, .cores = 2}}};
  machine.host.touch_bandwidth = BytesPerSecond{10'000'000'000};
  machine.host.memory = Bytes{1 << 30};
  const Program program = under_plans(t.take(), {plan});
  const Process process{&program, {GpuIndex{0}}, true};
  return run(machine, {&process, 1}, {.progress = {}});
}

// a goes out from 10 to 12.56; the CPU reads it once and writes it once, 102.4 MB at 20 GB/s, to 17.68; it is back at
// 22.80, when k3 begins.
TEST(TensorMemory, TheHostComputesOnEachOperandOnceAndWhatItAloneUsesIsNeverOnTheGpu) {
  expect_ms(run_on_host(one_gpu(kTensor), ""), 32.8);
}

// The SSD reads 5 GB/s and writes 2.5: a is there from 30.48 on, and while the CPU works, 5.12 ms, it is read in 10.24
// and written in 20.48, to 50.96; it is back at 61.20.
TEST(TensorMemory, TheHostStreamsThroughStorage) {
  expect_ms(run_on_host(with_ssd(one_gpu(kTensor), 1 << 30), "ssd0"), 71.2);
}

TEST(TensorMemory, HostMemoryThatIsTooSmallEndsTheRun) {
  const Result r = run_under({swap_a(Sync::Stream)}, {.host_memory = kTensor - 512});
  EXPECT_EQ(r.outcome, Outcome::HostOutOfMemory);
}

// There is room for one tensor: a leaves under the plan, b on demand. Host memory takes neither.
TEST(TensorMemory, WhatLeavesOnDemandGoesWhereThePlanMovesTensorsWhenHostMemoryIsFull) {
  const Machine m = with_ssd(one_gpu(kTensor), kTensor - 512);
  const Plan plan = plan_with(
      Move{.of = kOfA, .to = "ssd0", .out = {{Trigger::On::AfterKernel, 0}}, .in = {{Trigger::On::AfterKernel, 2}}});
  const Program program = under_plans(four_kernels(1, trace::Mode::Read, {}), {plan});
  const Process process{&program, {GpuIndex{0}}, true};
  const Result r = run(m, {&process, 1}, {.progress = {}});
  EXPECT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 2 * kTensor);
}

// --- placed by an allocator

// Tensors a to d of one unit each fill the memory; a and c are freed; e needs two units and there are two, apart. What
// is left over beyond four units is less than one.
constexpr std::int64_t kFourUnits = 4 * kTensor + kBlockBytes;

trace::Trace two_holes() {
  TraceBuilder t({});
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  t.iteration(0);
  std::vector<trace::TensorId> tensors;
  for (int n = 0; n < 4; ++n) tensors.push_back(t.allocate(Bytes{kTensor}, TensorKind::Activation));
  t.kernel("fill", kernel, {writes(tensors[0]), writes(tensors[1]), writes(tensors[2]), writes(tensors[3])});
  t.free(tensors[0]);
  t.free(tensors[2]);
  const auto e = t.allocate(Bytes{2 * kTensor}, TensorKind::Activation);
  t.kernel("large", kernel, {writes(e)});
  t.free(e);
  t.kernel("rest", kernel, {reads(tensors[1]), reads(tensors[3])});
  t.free(tensors[1]);
  t.free(tensors[3]);
  return t.take();
}

TEST(PlacedMemory, CountedBytesHaveNoHoles) {
  const Result r = run_trace(two_holes(), {}, {.memory = kFourUnits});
  expect_ms(r, 30);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 0);
}

// One pool, first fit: reclaiming two units takes b and d. Then there is room for both beside e: 10 for "fill", 5.12
// for the copies out, 10.24 for the copies in, beside "large", 10 for "rest".
TEST(PlacedMemory, HolesBetweenTensorsForceOthersOut) {
  const Result r = run_trace(two_holes(), {}, {.memory = kFourUnits, .allocator = "two_ended"});
  expect_ms(r, 35.36);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 2 * kTensor);
  ASSERT_EQ(r.allocators.size(), 1u);
  EXPECT_EQ(r.allocators[0].driver_allocs, 1);  // the pool
}

// Segments, of 391 times 128 KiB, hold a unit each: c gets a's as soon as its bytes have left. As when they are
// counted.
TEST(PlacedMemory, AddressesAreHandedOutAtOnceToWhoWaitsOnTheGpu) {
  const std::int64_t segment = 391 * (128 << 10);
  const Result r = run_under({swap_a(Sync::Stream)}, {.memory = 2 * 25 * kBlockBytes, .allocator = "torch_1_0"});
  expect_ms(r, 45.12);
  ASSERT_EQ(r.allocators.size(), 1u);
  EXPECT_EQ(r.allocators[0].peak.reserved_bytes, 2 * segment);
  EXPECT_EQ(r.allocators[0].driver_frees, 0);
  EXPECT_EQ(r.plan.memories[0].bytes, 2 * kTensor);
}

class EveryAllocator : public testing::TestWithParam<std::string> {};

// With room for all, wherever tensors lie, the plan runs as when they are counted.
TEST_P(EveryAllocator, PlacesTensorsThatComeAndGo) {
  const Result r = run_under({swap_a(Sync::Stream)}, {.memory = 16 * kTensor, .allocator = GetParam()});
  expect_ms(r, 45.12);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, kTensor);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, kTensor);
}

INSTANTIATE_TEST_SUITE_P(PlacedMemory, EveryAllocator, testing::ValuesIn(allocators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
