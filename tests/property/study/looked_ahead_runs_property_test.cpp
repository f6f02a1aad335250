// A GPU is looked ahead of to its next fault. Where others change its page tables meanwhile, what was seen is taken
// back: how far somebody looked leaves no trace in a run, to the last byte.
#include <gtest/gtest.h>

#include "support/whole_runs.h"

namespace uvmsim {
namespace {

using testing_support::expect_the_same;
using testing_support::micro;
using testing_support::WholeRun;

std::string network(const std::string& machine, const std::string& workload) {
  return testing_support::network(machine, workload, R"({"warmup": 0, "iterations": 1})");
}

std::vector<WholeRun> runs() {
  const std::string unet = network("gtx1080ti", R"("generator": "unet", "batch": 1)");
  return {{"evicts_ahead", unet, {"machine.gpu.usable_memory=256 MiB", "driver.eviction_policy=watermark"}},
          {"prefetches_ahead", unet, {"machine.gpu.usable_memory=256 MiB", "driver.prefetch_policy=correlation"}},
          // Arrays of which the GPU reads a part over the link, until its counters say that they move there.
          {"counts_accesses",
           micro("ac922_v100_16gb_x4", R"("generator": "hotspot_advised", "n": 2048, "duration": "0.2 ms",
                 "temp": "accessed_by_gpu", "power": "managed")",
                 R"("version": "440.33")"),
           {"machine.gpus=1"}},
          // What the counters move evicts what the kernel still needs, or does not need any more.
          {"counts_accesses_of_evicted_memory",
           network("v100_sxm2_32gb",
                   R"("generator": "word_language_model", "batch": 20, "bptt": 1408, "allocator": "torch_1_0",
              "prefetch_on_alloc": true)"),
           {"machine.gpu.usable_memory=8.325 GB", "driver.version=595.45.04",
            "driver.uvm_perf_access_counter_migration_enable=1"}}};
}

class LookedAheadRuns : public testing::TestWithParam<WholeRun> {};

TEST_P(LookedAheadRuns, AreTheSameHoweverFar) {
  RunOptions options;
  options.most_ahead = nanoseconds(20'000);
  expect_the_same(GetParam(), options);
}

INSTANTIATE_TEST_SUITE_P(Runs, LookedAheadRuns, testing::ValuesIn(runs()), testing_support::name_of);

}  // namespace
}  // namespace uvmsim
