// Gaps of validation/DEVIATIONS.md that no measured case watches: what the model does instead. A test here fails when its
// gap closes.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// Gap 8: kernels of several streams run one after the other, 2 x 200 us; on a GPU two small kernels may overlap.
TEST(KnownGap, KernelsOfTwoStreamsDoNotOverlap) {
  const Machine machine = experiment_of(micro("v100_sxm2_16gb", R"("generator": "first_touch")")).machine;
  Program program;
  program.host_op = Duration{0};
  program.strings = {"kernel"};
  const auto kernel = [](int stream) {
    return op::Kernel{.name = 0,
                      .stream = stream,
                      .device = 0,
                      .duration = microseconds(200),
                      .operands = {0, 0},
                      .grid = 1,
                      .block = 32,
                      .gap = Duration{0}};
  };
  program.ops = {op::Iteration{0}, kernel(1), kernel(2), op::Synchronize{-1}};
  const Process process{&program, {0}};
  RunOptions options;
  options.warmup = 0;
  const Result result = run(machine, {&process, 1}, options);
  ASSERT_EQ(result.outcome, Outcome::Completed) << result.detail;
  EXPECT_NEAR(result.duration_s, 400e-6, 40e-6);
}

}  // namespace
}  // namespace uvmsim
