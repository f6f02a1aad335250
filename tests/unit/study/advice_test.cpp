// What cudaMemAdvise, cudaMemPrefetchAsync and discard do to one kernel that reads 16 MiB the host wrote.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

constexpr std::int64_t kArray = 16 << 20;

constexpr std::int32_t kWarp = 32;

struct Launch {
  std::int64_t grid = 0;  // 0: as many CTAs of 512 threads as the array needs
  trace::Mode mode = trace::Mode::Read;
};

// The host writes the array, `calls` follow, a kernel reads it; then, if `host_reads`, the host does.
Result run_with(const std::vector<Op>& calls, bool host_reads = false, Launch launch = {}) {
  Program p;
  p.operands = {{kManagedBase, kArray, trace::Mode::Write}, {kManagedBase, kArray, launch.mode}};
  p.ops = {op::MallocManaged{kManagedBase, kArray}, op::HostStep{Duration{0}, {0, 1}}};
  p.ops.insert(p.ops.end(), calls.begin(), calls.end());
  p.strings = {"read"};
  p.ops.push_back(op::Iteration{0});
  p.ops.push_back(op::Kernel{
      0, 0, DeviceOrdinal{}, microseconds(100), {1, 1}, launch.grid, launch.grid > 0 ? kWarp : 0, Duration{0}});
  p.ops.push_back(op::Synchronize{-1});
  if (host_reads) p.ops.push_back(op::HostStep{Duration{0}, {1, 1}});
  return result_of(machine_of("v100_pcie_16gb"), p);
}

Op advise(int advice, std::optional<DeviceOrdinal> processor) {
  return op::Advise{kManagedBase, kArray, advice, processor};
}

TEST(Advice, WithoutItEverythingMigratesAndComesBack) {
  const GpuCounts c = run_with({}, true).gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, kArray);
  EXPECT_EQ(c.d2h_bytes, kArray);
  EXPECT_EQ(c.remote_bytes, 0);
}

// The GPU is mapped to the host's pages at once: no fault, no migration, all bytes over the link.
TEST(Advice, AccessedByReadsInPlace) {
  const GpuCounts c = run_with({advise(3, DeviceOrdinal{0})}).gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, 0);
  EXPECT_EQ(c.fault_batches, 0);
  EXPECT_EQ(c.remote_bytes, kArray);
}

// 16 MiB at the V100's 12 GB/s are 1.398 ms, longer than the kernel's 0.1 ms. Stores go the other way at the same time:
// not twice as long, although both directions disturb each other, at least 11.3 GB/s each.
TEST(Advice, AKernelInPlaceRunsAtTheLinksPace) {
  const auto compute = [](trace::Mode mode) {
    return run_with({advise(3, DeviceOrdinal{0})}, false, {0, mode}).gpus.at(0).time_split_s.compute_s;
  };
  EXPECT_NEAR(compute(trace::Mode::Read), kArray / 12e9, 1e-6);
  EXPECT_GT(compute(trace::Mode::ReadWrite), kArray / 12e9);
  EXPECT_LT(compute(trace::Mode::ReadWrite), kArray / 11.3e9);
}

// One warp has a line of 128 B on its way at a time: 131072 round trips of 790 ns.
TEST(Advice, OneWarpInPlaceWaitsForEachRoundTrip) {
  const Result r = run_with({advise(3, DeviceOrdinal{0})}, false, {1});
  EXPECT_NEAR(r.gpus.at(0).time_split_s.compute_s, kArray / 128 * 790e-9, 1e-6);
}

// Pages stay at their preferred location; the GPU faults to be mapped there.
TEST(Advice, PreferredLocationOnTheHostKeepsThePages) {
  const GpuCounts c = run_with({advise(2, std::nullopt)}).gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, 0);
  EXPECT_GT(c.fault_batches, 0);
  EXPECT_EQ(c.remote_bytes, kArray);
}

// Both have a copy: the host reads its own without a fault of a GPU page.
TEST(Advice, ReadMostlyLeavesTheHostItsCopy) {
  const GpuCounts c = run_with({advise(1, std::nullopt)}, true).gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, kArray);
  EXPECT_EQ(c.d2h_bytes, 0);
}

// One call, no fault: the kernel runs at its in-core time.
TEST(Advice, PrefetchedPagesDoNotFault) {
  const Result r = run_with({op::Prefetch{kManagedBase, kArray, DeviceOrdinal{0}, 0}, op::Synchronize{-1}});
  EXPECT_EQ(r.gpus.at(0).counts.fault_batches, 0);
  EXPECT_EQ(r.gpus.at(0).counts.h2d_bytes, kArray);
  EXPECT_NEAR(r.gpus.at(0).time_split_s.compute_s, 100e-6, 1e-9);
}

// Discarded contents need no copy: the pages are populated on the GPU.
TEST(Advice, DiscardedPagesAreNotCopied) {
  const GpuCounts c = run_with({op::Discard{kManagedBase, kArray, 0, false}, op::Synchronize{-1}}).gpus.at(0).counts;
  EXPECT_EQ(c.h2d_bytes, 0);
}

}  // namespace
}  // namespace uvmsim
