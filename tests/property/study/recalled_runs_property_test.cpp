// Whole runs in which kernels are recalled are the same, to the last byte, as those that walk each of them.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using testing_support::micro;
using testing_support::simulated;

struct Run {
  const char* name;
  std::string config;
  std::vector<std::string> settings;
};

std::string network(const std::string& machine, const std::string& workload) {
  return R"({"machine": {"extends": "machines/)" + machine + R"(.json"}, "workload": {"memory": "managed", )" +
         workload + R"(}, "run": {"warmup": 1, "iterations": 2}})";
}

std::vector<Run> runs() {
  const std::string unet = network("gtx1080ti", R"("generator": "unet", "batch": 1)");
  const std::string bert = network("v100_pcie_16gb", R"("generator": "bert_base", "batch": 2)");
  const std::string replicas =
      network("dgx1_v100_32gb", R"("generator": "resnet50", "batch": 4, "data_parallel": true)");
  return {{"in_core", unet, {}},
          {"oversubscribed", unet, {"machine.gpu.usable_memory=256 MiB"}},
          {"replays_by_block", unet, {"machine.gpu.usable_memory=256 MiB", "driver.uvm_perf_fault_replay_policy=0"}},
          {"replays_by_batch", unet, {"machine.gpu.usable_memory=256 MiB", "driver.uvm_perf_fault_replay_policy=1"}},
          {"replays_once", unet, {"machine.gpu.usable_memory=256 MiB", "driver.uvm_perf_fault_replay_policy=3"}},
          {"transformer", bert, {"machine.gpu.usable_memory=1 GiB"}},
          {"small_buffer", bert, {"machine.gpu.usable_memory=1 GiB", "machine.gpu.fault.fault_buffer_entries=100"}},
          {"replicas", replicas, {"machine.gpus=3", "machine.gpu.usable_memory=512 MiB"}},
          {"peers_of_one_process",
           network("dgx1_v100_32gb", R"("generator": "resnet50", "batch": 4)"),
           {"machine.gpus=2", "machine.gpu.usable_memory=512 MiB"}},
          {"evicts_ahead", unet, {"machine.gpu.usable_memory=256 MiB", "driver.eviction_policy=watermark"}},
          {"prefetches_ahead", unet, {"machine.gpu.usable_memory=256 MiB", "driver.prefetch_policy=correlation"}},
          {"first_touch", micro("gtx1080ti", R"("generator": "first_touch")"), {}},
          {"stencil", micro("v100_pcie_16gb", R"("generator": "stencil2d")"), {"machine.gpu.usable_memory=64 MiB"}}};
}

class RecalledRuns : public testing::TestWithParam<Run> {};

TEST_P(RecalledRuns, AreTheSame) {
  const Result recalled = simulated(GetParam().config, GetParam().settings);
  RunOptions options;
  options.recalls = false;
  EXPECT_EQ(to_json(recalled), to_json(simulated(GetParam().config, GetParam().settings, options)));
  EXPECT_GT(recalled.gpus.front().counts.fault_batches, 0);
}

INSTANTIATE_TEST_SUITE_P(Runs, RecalledRuns, testing::ValuesIn(runs()),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace uvmsim
