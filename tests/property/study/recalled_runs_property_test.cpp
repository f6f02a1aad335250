// Whole runs in which kernels are recalled are the same, to the last byte, as those that walk each of them.
#include <gtest/gtest.h>

#include "support/whole_runs.h"

namespace uvmsim {
namespace {

using testing_support::expect_the_same;
using testing_support::micro;
using testing_support::WholeRun;

std::string network(const std::string& machine, const std::string& workload) {
  return testing_support::network(machine, workload, R"({"warmup": 1, "iterations": 2})");
}

std::vector<WholeRun> runs() {
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

class RecalledRuns : public testing::TestWithParam<WholeRun> {};

TEST_P(RecalledRuns, AreTheSame) {
  RunOptions options;
  options.recalls = false;
  expect_the_same(GetParam(), options);
}

INSTANTIATE_TEST_SUITE_P(Runs, RecalledRuns, testing::ValuesIn(runs()), testing_support::name_of);

}  // namespace
}  // namespace uvmsim
