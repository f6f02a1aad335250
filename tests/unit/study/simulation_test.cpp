// Whole simulations of small jobs: what several GPUs share, and runs that do not complete.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// ResNet-1001 at batch 2 wants 1.3 GB; the GPUs here hold 0.9.
std::string oversubscribed(int gpus, bool sync_gradients) {
  return R"({"machine": {"extends": "machines/dgx1_v100_32gb.json", "gpus": )" + std::to_string(gpus) +
         R"(, "gpu": {"usable_memory": "900 MB"}}, "driver": {"version": "418.40"},
          "workload": {"generator": "resnet1001", "dtype": "fp32", "batch": 2, "allocator": "torch_1_0", "memory": "managed",
                       "prefetch_on_alloc": true, "data_parallel": true, "sync_gradients": )" +
         (sync_gradients ? "true" : "false") + R"(}, "run": {"warmup": 1, "iterations": 1}})";
}

TEST(Simulation, WithUnlimitedLinksAndNoSynchronisationEightGpusTakeAsLongAsOne) {
  RunOptions unlimited;
  unlimited.unlimited_links = true;
  const Result one = simulated(oversubscribed(1, false), {}, unlimited);
  const Result eight = simulated(oversubscribed(8, false), {}, unlimited);
  ASSERT_EQ(one.gpus.size(), 1u);
  ASSERT_EQ(eight.gpus.size(), 8u);
  EXPECT_GT(one.gpus[0].counts.h2d_bytes, 0);
  for (const GpuResult& gpu : eight.gpus) {
    EXPECT_NEAR(gpu.duration_s, one.gpus[0].duration_s, 1e-9);
    EXPECT_EQ(gpu.counts.fault_batches, one.gpus[0].counts.fault_batches);
    EXPECT_EQ(gpu.counts.h2d_bytes, one.gpus[0].counts.h2d_bytes);
  }
}

// gpu0 and gpu1 of a DGX-1 share an uplink.
TEST(Simulation, TwoGpusBehindOneUplinkWaitForIt) {
  const Result one = simulated(oversubscribed(1, false));
  const Result two = simulated(oversubscribed(2, false));
  EXPECT_GT(two.duration_s, one.duration_s * 1.01);
  EXPECT_GT(two.gpus[0].time_split_s.link_wait_s, one.gpus[0].time_split_s.link_wait_s);
}

TEST(Simulation, PartsOfTheTimeSplitAddUpToTheDuration) {
  const Result r = simulated(oversubscribed(2, true));
  for (const GpuResult& gpu : r.gpus) {
    EXPECT_NEAR(gpu.time_split_s.total(), gpu.duration_s, 1e-12);
    EXPECT_GT(gpu.time_split_s.collective_s, 0);
  }
}

TEST(Simulation, TheSameInputGivesTheSameHistory) {
  const Result a = simulated(oversubscribed(2, true)), b = simulated(oversubscribed(2, true));
  EXPECT_EQ(a.history_hash, b.history_hash);
  EXPECT_EQ(to_json(a), to_json(b));
}

TEST(Simulation, UnlimitedMemoryMovesNothing) {
  RunOptions unlimited;
  unlimited.unlimited_memory = true;
  const Result r = simulated(oversubscribed(1, false), {}, unlimited);
  EXPECT_EQ(r.gpus.at(0).counts.h2d_bytes, 0);
  EXPECT_EQ(r.gpus.at(0).counts.fault_batches, 0);
}

// Host memory of 64 MiB cannot back 128 MiB of arrays that the host writes.
TEST(Simulation, HostMemoryThatIsTooSmallIsAnOutcome) {
  const Result r = simulated(micro("v100_sxm2_16gb", R"("generator": "vector_add", "elements": 11184810)"),
                             {"machine.host.memory=64 MiB"});
  EXPECT_EQ(r.outcome, Outcome::HostOutOfMemory);
  EXPECT_FALSE(r.detail.empty());
}

// cudaMalloc of 3 x 43 MiB on a GPU with 100 MiB.
TEST(Simulation, DeviceMemoryThatIsTooSmallIsAnOutcome) {
  const Result r = simulated(micro("v100_sxm2_16gb", R"("generator": "vector_add", "elements": 11184810)"),
                             {"machine.gpu.usable_memory=100 MiB", "workload.memory=device"});
  EXPECT_EQ(r.outcome, Outcome::OutOfMemory);
  EXPECT_FALSE(r.detail.empty());
}

// Two ranks; the first takes part in one collective, the second in two: the second never ends.
TEST(Simulation, ADeadlockSaysWhoWaitsForWhat) {
  ChildProcess child([] {
    Machine m = experiment_of(oversubscribed(2, true)).machine;
    const op::Collective all_reduce{trace::Collective::AllReduce, 0, DeviceOrdinal{}, 1 << 20, {}, 0};
    Program once, twice;
    once.ops = {all_reduce};
    twice.ops = {all_reduce, all_reduce};
    const std::vector<Process> processes{{&once, {GpuIndex{0}}}, {&twice, {GpuIndex{1}}}};
    return to_json(run(m, processes, {}));
  });
  const auto result = result_from_json(child.wait());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::Deadlock);
  EXPECT_NE(result->detail.find("stream 0 waits for the other ranks of a collective"), std::string::npos)
      << result->detail;
}

}  // namespace
}  // namespace uvmsim
