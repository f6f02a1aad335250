// When the driver's thread for faults runs.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// CPU time of the faults of one thread that faults four times, so long after it has got the last ones.
double fault_cpu_us(const std::string& pause, const std::string& wakeup) {
  const Result r = simulated(micro("v100_pcie_16gb", R"("generator": "page_touch", "order": [0, 1, 2, 4])"),
                             {"workload.spin=" + pause, "machine.gpu.driver_costs.wakeup=" + wakeup,
                              "machine.gpu.driver_costs.wakeup_after=60 us"});
  return r.gpus.at(0).time_split_s.fault_cpu_s * 1e6;
}

// The first fault finds the processor asleep, the others come before it sleeps: one wakeup.
TEST(BottomHalf, StaysAwakeForFaultsThatFollow) {
  EXPECT_NEAR(fault_cpu_us("50 us", "30 us") - fault_cpu_us("50 us", "0 s"), 30, 1e-6);
}

// Each of the four faults wakes it.
TEST(BottomHalf, FallsAsleepBetweenFaultsThatAreFarApart) {
  EXPECT_NEAR(fault_cpu_us("70 us", "30 us") - fault_cpu_us("70 us", "0 s"), 4 * 30, 1e-6);
}

}  // namespace
}  // namespace uvmsim
