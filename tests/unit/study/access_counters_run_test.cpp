// Access counters in a run: a kernel reads memory where it is until it has done so often enough.
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

constexpr std::int64_t kSize = 16 << 20;

// The host writes 16 MiB, the GPU is mapped to them, and `kernels` read all of them, one after the other.
GpuCounts counts_of(int kernels, const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"driver.uvm_perf_access_counter_migration_enable=1"};
  all.insert(all.end(), settings.begin(), settings.end());
  Program p;
  p.operands = {{kManagedBase, kSize, trace::Mode::Write}, {kManagedBase, kSize, trace::Mode::Read}};
  p.ops = {op::MallocManaged{kManagedBase, kSize}, op::HostStep{Duration{0}, {0, 1}},
           op::Advise{kManagedBase, kSize, 3, DeviceOrdinal{0}}};
  p.strings = {"read"};
  p.ops.push_back(op::Iteration{0});
  for (int k = 0; k < kernels; ++k) {
    p.ops.push_back(op::Kernel{0, 0, DeviceOrdinal{}, microseconds(100), {1, 1}, 0, 0, Duration{0}});
    p.ops.push_back(op::Synchronize{-1});
    p.ops.push_back(op::HostStep{microseconds(50000), {0, 0}});  // time for the driver
  }
  return result_of(machine_of("v100_pcie_16gb", all), p).gpus.at(0).counts;
}

// A read of 2 MiB is 16384 accesses of 128 B: a threshold of 40000 is reached by the third of five kernels.
TEST(AccessCounterRun, PagesMoveOnceTheirThresholdIsReached) {
  const GpuCounts counts = counts_of(5, {"driver.uvm_perf_access_counter_threshold=40000"});
  EXPECT_EQ(counts.remote_bytes, 3 * kSize);
  EXPECT_EQ(counts.h2d_bytes, kSize);
  EXPECT_EQ(counts.fault_batches, 0);
}

TEST(AccessCounterRun, BelowItTheyStay) {
  const GpuCounts counts = counts_of(2, {"driver.uvm_perf_access_counter_threshold=40000"});
  EXPECT_EQ(counts.remote_bytes, 2 * kSize);
  EXPECT_EQ(counts.h2d_bytes, 0);
}

TEST(AccessCounterRun, OffTheyStayForEver) {
  const GpuCounts counts = counts_of(5, {"driver.uvm_perf_access_counter_migration_enable=0"});
  EXPECT_EQ(counts.remote_bytes, 5 * kSize);
  EXPECT_EQ(counts.h2d_bytes, 0);
}

// The driver begins to migrate while the second kernel runs, which takes what it finds where it finds it.
TEST(AccessCounterRun, AKernelRunsThroughAMigration) {
  Program p;
  p.operands = {{kManagedBase, kSize, trace::Mode::Write}, {kManagedBase, kSize, trace::Mode::ReadWrite}};
  p.ops = {op::MallocManaged{kManagedBase, kSize}, op::HostStep{Duration{0}, {0, 1}},
           op::Advise{kManagedBase, kSize, 3, DeviceOrdinal{0}}};
  p.strings = {"update"};
  p.ops.push_back(op::Iteration{0});
  for (int k = 0; k < 4; ++k)
    p.ops.push_back(op::Kernel{0, 0, DeviceOrdinal{}, microseconds(500), {1, 1}, 0, 0, Duration{0}});
  p.ops.push_back(op::Synchronize{-1});
  const Result result =
      result_of(machine_of("v100_pcie_16gb", {"driver.uvm_perf_access_counter_migration_enable=1"}), p);
  EXPECT_EQ(result.outcome, Outcome::Completed) << result.detail;
  ASSERT_EQ(result.gpus.size(), 1u);
  EXPECT_EQ(result.gpus[0].counts.h2d_bytes, kSize);
  EXPECT_LT(result.gpus[0].counts.remote_bytes, 4 * 2 * kSize);
}

// A kernel without faults is counted as it goes: of each of its eight times 2 MiB, the first 64 KiB notify the driver
// after 256 accesses, the rest with the first of the next 2 MiB, 1.25 ms later, and take 0.2 ms at 11 GB/s. The next
// kernel finds all but the rest of the last ones on the GPU.
TEST(AccessCounterRun, PagesMoveWhileAKernelRuns) {
  Program p;
  p.operands = {{kManagedBase, kSize, trace::Mode::Write}, {kManagedBase, kSize, trace::Mode::Read}};
  p.ops = {op::MallocManaged{kManagedBase, kSize}, op::HostStep{Duration{0}, {0, 1}},
           op::Advise{kManagedBase, kSize, 3, DeviceOrdinal{0}}, op::Iteration{0}};
  p.strings = {"read"};
  for (int k = 0; k < 2; ++k)
    p.ops.push_back(op::Kernel{0, 0, DeviceOrdinal{}, microseconds(10000), {1, 1}, 0, 0, Duration{0}});
  p.ops.push_back(op::Synchronize{-1});
  const Result result =
      result_of(machine_of("v100_pcie_16gb", {"driver.uvm_perf_access_counter_migration_enable=1"}), p);
  EXPECT_EQ(result.gpus.at(0).counts.remote_bytes, kSize + kBlockBytes - kBigPageBytes);
  EXPECT_EQ(result.gpus.at(0).counts.h2d_bytes, kSize);
}

// A kernel reads 16 MiB where they are and writes 16 MiB that nobody touched before. What it reads reaches the
// threshold as its CTAs start, and the thread that services its faults migrates that first: at 11 GB/s, 16 MiB take 1.5
// ms, most of which the kernel waits for; what it reads last is serviced behind it, while the host works for 20 ms.
// Faults that come meanwhile meet in fewer batches, where a batch takes as many as there are.
TEST(AccessCounterRun, AKernelThatFaultsWaitsForMigrations) {
  const auto run_with = [](int enable) {
    Program p;
    p.operands = {{kManagedBase, kSize, trace::Mode::Write},
                  {kManagedBase, kSize, trace::Mode::Read},
                  {kManagedBase + kSize, kSize, trace::Mode::Write}};
    p.ops = {op::MallocManaged{kManagedBase, kSize},
             op::MallocManaged{kManagedBase + kSize, kSize},
             op::HostStep{Duration{0}, {0, 1}},
             op::Advise{kManagedBase, kSize, 3, DeviceOrdinal{0}},
             op::Iteration{0},
             op::Kernel{0, 0, DeviceOrdinal{}, microseconds(100), {1, 2}, 16384, 256, Duration{0}},
             op::Synchronize{-1},
             op::HostStep{microseconds(20000), {0, 0}}};
    p.strings = {"copy"};
    const std::string counters = "driver.uvm_perf_access_counter_migration_enable=" + std::to_string(enable);
    return result_of(machine_of("v100_pcie_16gb", {counters, "driver.uvm_perf_fault_batch_count=4096"}), p).gpus.at(0);
  };
  const GpuResult on = run_with(1), off = run_with(0);
  EXPECT_EQ(on.counts.h2d_bytes, kSize);
  EXPECT_EQ(off.counts.h2d_bytes, 0);
  EXPECT_LT(on.counts.fault_batches, off.counts.fault_batches);
  EXPECT_GT(on.duration_s - off.duration_s, 0.5 * kSize / 11e9);
}

}  // namespace
}  // namespace uvmsim
