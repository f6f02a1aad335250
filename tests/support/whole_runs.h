// Whole runs that must come out the same, to the last byte, when the simulator leaves out a short cut.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/simulated.h"

namespace uvmsim::testing_support {

struct WholeRun {
  const char* name;
  std::string config;
  std::vector<std::string> settings;
};

// Training over managed memory. `run`: as in a configuration.
inline std::string network(const std::string& machine, const std::string& workload, const std::string& run) {
  return R"({"machine": {"extends": "machines/)" + machine + R"(.json"}, "workload": {"memory": "managed", )" +
         workload + R"(}, "run": )" + run + "}";
}

// With `options` the run is what it is without, and it faults.
inline void expect_the_same(const WholeRun& run, const RunOptions& options) {
  const Result usual = simulated(run.config, run.settings);
  EXPECT_EQ(to_json(usual), to_json(simulated(run.config, run.settings, options)));
  EXPECT_GT(usual.gpus.front().counts.fault_batches, 0);
}

inline std::string name_of(const testing::TestParamInfo<WholeRun>& run) { return run.param.name; }

}  // namespace uvmsim::testing_support
