#include "metrics/check_result.h"

#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

namespace uvmsim {
namespace {

std::string fault_of(const Result& result) {
  try {
    checked(result);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

Result of_two_gpus() {
  Result result;
  result.duration_s = 1.5;
  result.gpus.resize(2);
  return result;
}

TEST(CheckResult, NothingIsNegative) {
  Result result = of_two_gpus();
  EXPECT_EQ(fault_of(result), "");
  result.gpus[1].time_split_s.eviction_s = -0.0142;
  EXPECT_EQ(fault_of(result), "a result that cannot be: /gpus/1/time_split_s/eviction_s is -0.014200");
  result = of_two_gpus();
  result.gpus[0].counts.h2d_bytes = -4096;
  EXPECT_EQ(fault_of(result), "a result that cannot be: /gpus/0/h2d_bytes is -4096");
  result = of_two_gpus();
  result.links.resize(3);
  result.links[2].contention_s = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fault_of(result), "a result that cannot be: /links/2/contention_s is nan");
}

// A copy in that came before its user is early, not wrong.
TEST(CheckResult, CopiesMayBeEarly) {
  Result result = of_two_gpus();
  result.plan.actions.push_back({.lateness_s = -0.5});
  EXPECT_EQ(fault_of(result), "");
  result.plan.actions.back().stall_s = -0.5;
  EXPECT_EQ(fault_of(result), "a result that cannot be: /plan/actions/0/stall_s is -0.500000");
}

// kNever is 2^63 / 4 ps, 2.3e6 s: two iterations of 1e6 s are in its reach, three are not.
TEST(CheckResult, IterationsEndBeforeSimulatedTimeDoes) {
  Result result = of_two_gpus();
  result.gpus[1].iteration_s = {1e6, 1e6};
  EXPECT_EQ(fault_of(result), "");
  result.gpus[1].iteration_s.push_back(1e6);
  EXPECT_EQ(fault_of(result),
            "a result that cannot be: /gpus/1/iteration_s adds up to 3000000.000000 s, more than simulated time holds");
}

}  // namespace
}  // namespace uvmsim
