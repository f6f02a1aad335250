// A host and a GPU that want the same pages at the same time.
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// The host writes 64 KiB again and again, while kernels that write them are queued.
GpuCounts fight(bool thrashing_enable, int rounds) {
  Program p;
  p.operands = {{kManagedBase, 64 << 10, trace::Mode::ReadWrite}};
  p.strings = {"update"};
  p.ops = {op::Iteration{0}, op::MallocManaged{kManagedBase, 64 << 10}};
  for (int round = 0; round < rounds; ++round) {
    p.ops.push_back(op::Kernel{0, 0, DeviceOrdinal{}, microseconds(20), {0, 1}, 0, 0, Duration{0}});
    p.ops.push_back(op::HostStep{microseconds(60), {0, 1}});
  }
  p.ops.push_back(op::Synchronize{-1});
  const std::string thrashing =
      std::string("driver.uvm_perf_thrashing_enable=") + (thrashing_enable ? "true" : "false");
  const Result result = result_of(machine_of("v100_pcie_16gb", {thrashing}), p);
  EXPECT_EQ(result.outcome, Outcome::Completed) << result.detail;
  return result.gpus.empty() ? GpuCounts{} : result.gpus[0].counts;
}

// What the host takes while the pages are still on their way to the GPU, the GPU has lost, and faults on again: each
// side has them as often as the other, give or take the last one.
TEST(SharedPages, GoBackAndForth) {
  const GpuCounts counts = fight(false, 100);
  EXPECT_GT(counts.h2d_bytes, 20 * (64 << 10));
  EXPECT_NEAR(static_cast<double>(counts.h2d_bytes), static_cast<double>(counts.d2h_bytes), 64 << 10);
}

// Throttled, then pinned: fewer moves, and the GPU accesses the host's memory.
TEST(SharedPages, ThrashingEndsInRemoteAccess) {
  const GpuCounts counts = fight(true, 100);
  EXPECT_LT(counts.h2d_bytes, fight(false, 100).h2d_bytes);
  EXPECT_GT(counts.remote_bytes, 0);
}

// Two GPUs of one process write the same 8 MiB at the same time, 20 times: their bottom halves wait for each other's
// blocks, in the order of addresses, and both end.
TEST(SharedPages, TwoGpusShareBlocks) {
  Program p;
  p.operands = {{kManagedBase, 8 << 20, trace::Mode::ReadWrite}};
  p.strings = {"update"};
  p.ops = {op::Iteration{0}, op::MallocManaged{kManagedBase, 8 << 20}};
  for (int round = 0; round < 20; ++round)
    for (const int gpu : {0, 1})
      p.ops.push_back(op::Kernel{.name = 0,
                                 .stream = gpu,
                                 .device = DeviceOrdinal{gpu},
                                 .duration = microseconds(50),
                                 .operands = {0, 1},
                                 .grid = 0,
                                 .block = 0,
                                 .gap = Duration{0}});
  p.ops.push_back(op::Synchronize{-1});
  const Result result = result_of(machine_of("v100_pcie_x4_single_root", {"machine.gpus=2"}), p);
  EXPECT_EQ(result.outcome, Outcome::Completed) << result.detail;
  ASSERT_EQ(result.gpus.size(), 2u);
  for (const GpuResult& gpu : result.gpus) {
    EXPECT_EQ(gpu.counts.kernels, 20);
    EXPECT_GT(gpu.counts.fault_batches, 0);
  }
}

// A kernel of 100 ms reads 32 MiB that are all there, from the first page to the last one. At its start another stream
// takes 2 MiB from the GPU that nobody needs, then the second half of what the kernel reads. It faults when it gets
// there, halfway, and not when it would have ended: 16 MiB come back in less than 10 ms.
TEST(SharedPages, AKernelFaultsWhenItMissesWhatWasTakenFromIt) {
  constexpr std::int64_t kShared = 32 << 20;
  const VirtualAddress other = kManagedBase + kShared, half = kManagedBase + kShared / 2;
  const auto kernel = [](Duration duration) {
    return op::Kernel{.name = 0,
                      .stream = 0,
                      .device = DeviceOrdinal{0},
                      .duration = duration,
                      .operands = {0, 1},
                      .grid = 0,
                      .block = 0,
                      .gap = Duration{0}};
  };
  Program p;
  p.operands = {{kManagedBase, kShared, trace::Mode::Read}};
  p.strings = {"read"};
  p.ops = {op::Iteration{0},
           op::MallocManaged{kManagedBase, kShared},
           op::MallocManaged{other, kBlockBytes},
           op::Prefetch{kManagedBase, kShared, DeviceOrdinal{0}, 0},
           op::Prefetch{other, kBlockBytes, DeviceOrdinal{0}, 0},
           op::Synchronize{-1},
           kernel(microseconds(100'000)),
           op::Prefetch{other, kBlockBytes, std::nullopt, 1},
           op::Prefetch{half, kShared / 2, std::nullopt, 1},
           op::Synchronize{-1}};
  const Result result = result_of(machine_of("v100_pcie_16gb"), p);
  ASSERT_EQ(result.outcome, Outcome::Completed) << result.detail;
  EXPECT_GT(result.gpus.front().counts.fault_batches, 0);
  EXPECT_GT(result.duration_s, 0.1);
  EXPECT_LT(result.duration_s, 0.12);
}

}  // namespace
}  // namespace uvmsim
