// What allocating costs in time: the driver's calls against a pool, and an allocator that returns its cache.
#include <gtest/gtest.h>

#include "support/simulated.h"
#include "support/sizes.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using namespace testing_support;

Machine machine() { return experiment_of(micro("v100_sxm2_32gb", R"("generator": "vector_add")")).machine; }

Result run_on_one_gpu(const trace::Trace& trace, const PlacementOptions& placement) {
  ChildProcess child([&] {
    const Program program = place(trace, placement);
    const Process process{&program, {GpuIndex{0}}};
    return to_json(run(machine(), {&process, 1}, {.warmup = 0, .progress = {}}));
  });
  return result_from_json(child.wait()).value_or(Result{});
}

// Each of the first `processes` GPUs of a DGX-1 has a process of its own, which makes ten allocations of 4 MiB.
Result ten_allocations(int processes, bool enables_peers) {
  ChildProcess child([&] {
    TraceBuilder t{{}};
    t.append(trace::Iteration{0});
    for (int i = 0; i < 10; ++i) t.allocate(Bytes{4 * kMiB}, TensorKind::Other);
    t.append(trace::Synchronize{-1});
    const Program program = place(t.take(), {.allocator = "none", .memory = "device"});
    std::vector<Process> all(static_cast<std::size_t>(processes), Process{&program, {GpuIndex{0}}});
    for (int p = 0; p < processes; ++p) {
      all[static_cast<std::size_t>(p)].gpus = {GpuIndex{p}};
      all[static_cast<std::size_t>(p)].enables_peers = enables_peers;
    }
    return to_json(run(machine_of("dgx1_v100_32gb"), all, {.warmup = 0, .progress = {}}));
  });
  return result_from_json(child.wait()).value_or(Result{});
}

constexpr int kSteps = 200;
constexpr Duration kKernel = microseconds(20);

// Data frames in short: every operation makes a new column of 4 MiB from the last one, which is then freed.
trace::Trace churn() {
  TraceBuilder t{{}};
  t.append(trace::Iteration{0});
  trace::TensorId last = t.allocate(Bytes{4 * kMiB}, TensorKind::Other);
  for (int i = 0; i < kSteps; ++i) {
    const trace::TensorId next = t.allocate(Bytes{4 * kMiB}, TensorKind::Other);
    t.kernel("step", {.duration_ns = kKernel / microseconds(1) * 1000, .grid = 80, .block = 256},
             {reads(last), writes(next)});
    t.free(last);
    last = next;
  }
  t.append(trace::Synchronize{-1});
  return t.take();
}

// cudaMalloc and cudaFree: each free waits for the kernel, so host and GPU take turns. A step is the kernel and its
// launch, cudaMalloc of more than 2 MiB, and cudaFree with the scrubbing of 4 MiB. A pool's steps are as long as the
// kernels, once its first block is there.
TEST(AllocatorCost, FreeWaitsForTheDeviceAndAPoolDoesNot) {
  const RuntimeCosts costs = machine().host.runtime;
  const double call = seconds(costs.malloc_call + costs.malloc_large + costs.free_call) +
                      seconds(costs.free_gib) * static_cast<double>(4 * kMiB) / (1 << 30);
  const trace::Trace trace = churn();
  const Result none = run_on_one_gpu(trace, {.allocator = "none", .memory = "device"});
  const Result pool =
      run_on_one_gpu(trace, {.allocator = "cnmem", .memory = "device", .gpu_memory = Bytes{std::int64_t{32} << 30}});
  EXPECT_NEAR(none.duration_s / kSteps, seconds(kKernel + costs.kernel_launch) + call, 2e-6);
  EXPECT_NEAR(pool.duration_s / kSteps, seconds(kKernel), 2e-6);
  EXPECT_EQ(none.allocators.at(0).driver_allocs, kSteps + 1);
  EXPECT_EQ(pool.allocators.at(0).driver_allocs, 1);
  RecordProperty("pool_is_faster_by", std::to_string(none.duration_s / pool.duration_s));
}

// 100 MiB for cudaMalloc. Four blocks of 20 MiB are cached when 90 MiB are asked for: PyTorch gets them from the driver
// after four cudaFree, each of which costs its call and the scrubbing of 20 MiB, and another cudaMalloc.
TEST(AllocatorCost, AFlushIsItsCudaFrees) {
  const RuntimeCosts costs = machine().host.runtime;
  const auto trace_with = [](std::int64_t last) {
    TraceBuilder t{{}};
    t.append(trace::Iteration{0});
    std::vector<trace::TensorId> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(t.allocate(Bytes{20 * kMiB}, TensorKind::Other));
    for (const trace::TensorId block : blocks) t.free(block);
    const trace::TensorId big = t.allocate(Bytes{last}, TensorKind::Other);
    t.kernel("use", {.duration_ns = 20'000, .grid = 80, .block = 256}, {writes(big)});
    t.append(trace::Synchronize{-1});
    return t.take();
  };
  const PlacementOptions placement{.allocator = "torch_2", .memory = "device", .device_capacity = Bytes{100 * kMiB}};
  const Result cached = run_on_one_gpu(trace_with(20 * kMiB), placement);
  const Result flushed = run_on_one_gpu(trace_with(90 * kMiB), placement);
  EXPECT_EQ(flushed.allocators.at(0).cache_flushes, 1);
  EXPECT_EQ(flushed.allocators.at(0).driver_frees, 4);
  const double frees = 4 * (seconds(costs.free_call) + seconds(costs.free_gib) * 20 / 1024);
  EXPECT_NEAR(flushed.duration_s - cached.duration_s, frees + seconds(costs.malloc_call + costs.malloc_large), 1e-6);
}

// GPU 0 of a DGX-1 reaches four others: 1, 2 and 3 below its socket, and 4 over NVLink.
TEST(AllocatorCost, MemoryIsMappedOnEveryPeer) {
  const RuntimeCosts costs = machine().host.runtime;
  const double alone = ten_allocations(1, false).duration_s;
  EXPECT_NEAR(alone, 10 * seconds(costs.malloc_call + costs.malloc_large), 1e-9);
  EXPECT_NEAR(ten_allocations(1, true).duration_s - alone, 10 * 4 * seconds(costs.malloc_peer), 1e-9);
}

// Each of the processes' allocations waits for one of each other process: three take three times as long.
TEST(AllocatorCost, ProcessesWaitForEachOthersAllocations) {
  const double alone = ten_allocations(1, false).duration_s;
  EXPECT_NEAR(ten_allocations(3, false).duration_s, 3 * alone, 1e-9);
}

}  // namespace
}  // namespace uvmsim
