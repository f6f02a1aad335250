// cudaMemPrefetchAsync. One engine per process: ctest runs every test alone.
#include <gtest/gtest.h>

#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// How long it takes to prefetch so many blocks of 2 MiB to the host, which has had them; each copy takes 209.715 us.
double to_host_us(int blocks, Duration map_page) {
  const std::int64_t size = std::int64_t{blocks} << 21;
  Program p = one_iteration();
  p.operands.push_back({.address = kManagedBase, .bytes = size, .mode = trace::Mode::Write});
  op::HostStep writes{};
  writes.operands = {0, 1};
  p.ops.insert(p.ops.end(), {op::MallocManaged{kManagedBase, size}, writes,
                             op::Prefetch{kManagedBase, size, DeviceOrdinal{0}, 0}, op::Synchronize{}});
  p.ops.insert(p.ops.end(), {op::Iteration{1}, op::Prefetch{kManagedBase, size, std::nullopt, 0}, op::Synchronize{}});
  Machine m = star(1);
  m.host.memory = Bytes{1 << 30};
  m.gpus[GpuIndex{0}].driver_costs.cpu_map_page = map_page;
  return run_on(m, p).gpus.at(0).iteration_s.at(1) * 1e6;
}

// One pass: the pages of a lone block are mapped when they are there. 209.7 + 512 x 0.1 us.
TEST(PrefetchToTheHost, MapsALoneBlockBehindItsCopy) { EXPECT_NEAR(to_host_us(1, nanoseconds(100)), 260.9, 0.1); }

// Two passes: all copies first. The first block is mapped while the second is copied, which takes longer: 4 copies, and
// the mapping of the last block.
TEST(PrefetchToTheHost, MapsBlocksWhileOthersAreCopied) {
  EXPECT_NEAR(to_host_us(4, nanoseconds(100)), 4 * 209.715 + 51.2, 0.1);
}

// Mapping takes longer than copying, 307.2 us a block: the first copy, and four blocks mapped.
TEST(PrefetchToTheHost, IsBoundByMappingWhereThatTakesLonger) {
  EXPECT_NEAR(to_host_us(4, nanoseconds(600)), 209.715 + 4 * 307.2, 0.1);
}

// How long it takes to prefetch two blocks to the GPU, the second one right behind the first or after waiting for it.
double two_calls_us(Duration busy_call, bool waits) {
  constexpr std::int64_t kSize = std::int64_t{1} << 21;
  Program p = one_iteration();
  p.operands.push_back({.address = kManagedBase, .bytes = 2 * kSize, .mode = trace::Mode::Write});
  op::HostStep writes{};
  writes.operands = {0, 1};
  p.ops.insert(p.ops.end(), {op::MallocManaged{kManagedBase, 2 * kSize}, writes, op::Synchronize{}, op::Iteration{1}});
  for (const VirtualAddress block : {kManagedBase, kManagedBase + kSize}) {
    p.ops.push_back(op::Prefetch{block, kSize, DeviceOrdinal{0}, 0});
    if (waits) p.ops.push_back(op::Synchronize{});
  }
  p.ops.push_back(op::Synchronize{});
  Machine m = star(1);
  m.host.memory = Bytes{1 << 30};
  m.host.runtime.kernel_launch = microseconds(1);
  m.host.runtime.busy_prefetch_call = busy_call;
  m.gpus[GpuIndex{0}].driver_costs.migrate_call = microseconds(10);
  return run_on(m, p).gpus.at(0).iteration_s.at(1) * 1e6;
}

// The first call takes 1 + 10 us. The stream is busy with its copy when the second one comes: a thread of the driver
// works on it when the copy is there, and takes 40 us, or as long as the calling thread would.
TEST(PrefetchOnABusyStream, WaitsForAThreadOfTheDriver) {
  EXPECT_NEAR(two_calls_us(microseconds(40), false), 11 + 209.715 + 40 + 209.715, 0.1);
}

TEST(PrefetchOnABusyStream, TakesNoLessThanOnAnIdleOne) {
  EXPECT_NEAR(two_calls_us(microseconds(4), false), 11 + 209.715 + 10 + 209.715, 0.1);
}

TEST(PrefetchOnAnIdleStream, IsMadeByTheCallingThread) {
  EXPECT_NEAR(two_calls_us(microseconds(40), true), 2 * (11 + 209.715), 0.1);
}

// A warm-up that prefetches 4 MiB to the GPU, and an iteration that does so again.
GpuResult prefetched_twice(bool from_host) {
  constexpr std::int64_t kSize = std::int64_t{2} << 21;
  Program p = one_iteration();
  const op::Prefetch to_gpu{kManagedBase, kSize, DeviceOrdinal{0}, 0};
  p.ops.insert(p.ops.end(), {op::MallocManaged{kManagedBase, kSize}, to_gpu, op::Synchronize{}, op::Iteration{1},
                             to_gpu, op::Synchronize{}});
  Machine m = star(1);
  m.host.memory = Bytes{1 << 30};
  RunOptions options;
  options.from_host = from_host;
  return run_on(m, p, options, 1).gpus.at(0);
}

// Two blocks go to the host, which is the warm-up's time, and come back: each takes 2 x 209.7 us.
TEST(FromHost, BringsAllManagedMemoryToTheHostBeforeTheMeasuredIteration) {
  const GpuResult gpu = prefetched_twice(true);
  EXPECT_NEAR(gpu.iteration_s.at(0) * 1e6, 2 * 209.715, 0.1);
  EXPECT_NEAR(gpu.iteration_s.at(1) * 1e6, 2 * 209.715, 0.1);
  EXPECT_EQ(gpu.iteration_h2d_bytes.at(1), std::int64_t{4} << 20);
}

TEST(FromHost, IsNotSoWithoutBeingAskedFor) { EXPECT_EQ(prefetched_twice(false).iteration_h2d_bytes.at(1), 0); }

// 64 blocks that the host wrote go to a GPU that has room for 16. The driver is ahead of the copies: it evicts blocks
// before the entries for them are written, which must not be written then. A kernel that reads all 64 misses 48 at
// least.
TEST(PrefetchOfMoreThanFits, MapsNothingThatItEvicted) {
  constexpr std::int64_t kSize = std::int64_t{64} << 21;
  Program p = one_iteration();
  p.operands = {{.address = kManagedBase, .bytes = kSize, .mode = trace::Mode::Write},
                {.address = kManagedBase, .bytes = kSize, .mode = trace::Mode::Read}};
  op::HostStep writes{};
  writes.operands = {0, 1};
  op::Kernel reads = kernel(0, 1);
  reads.operands = {1, 1};
  p.ops.insert(p.ops.end(),
               {op::MallocManaged{kManagedBase, kSize}, writes, op::Prefetch{kManagedBase, kSize, DeviceOrdinal{0}, 0},
                op::Synchronize{}, op::Iteration{1}, reads, op::Synchronize{}});
  Machine m = star(1);
  m.host.memory = Bytes{1 << 30};
  GpuSpec& gpu = m.gpus[GpuIndex{0}];
  gpu.usable_memory = Bytes{std::int64_t{16} << 21};
  gpu.sms = gpu.max_ctas_per_sm = 1;
  gpu.max_threads_per_sm = 1024;
  gpu.memory_bandwidth = BytesPerSecond{900'000'000'000};
  gpu.fault.entry_interval = nanoseconds(14);
  gpu.fault.entry_latency = gpu.fault.touch_latency = nanoseconds(500);
  EXPECT_GE(run_on(m, p).gpus.at(0).iteration_h2d_bytes.at(1), std::int64_t{48} << 21);
}

}  // namespace
}  // namespace uvmsim
