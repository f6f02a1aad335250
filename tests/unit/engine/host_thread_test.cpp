// When the thread that issues a program waits. One SimGrid engine per process: ctest runs every test alone.
#include "engine/host_thread.h"

#include <gtest/gtest.h>

#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// An iteration with a kernel of 50 ms, then two of 100 kernels that take no time; 5 us a launch.
Program slow_warm_up() {
  Program p;
  p.host_op = microseconds(5);
  p.ops.push_back(op::Iteration{0});
  p.ops.push_back(kernel(0, 50));
  for (int iteration = 1; iteration < 3; ++iteration) {
    p.ops.push_back(op::Iteration{iteration});
    for (int k = 0; k < 100; ++k) p.ops.push_back(kernel(0, 0));
  }
  return p;
}

// 200 launches of 5 us each, which begin when the kernel of the warm-up has ended: 0.5 ms an iteration.
TEST(HostThread, LaunchesWhatIsMeasuredAfterTheWarmUp) {
  const Program p = slow_warm_up();
  const Process process{&p, {GpuIndex{0}}};
  EXPECT_NEAR(run(star(1), {&process, 1}, {.warmup = 1, .progress = {}}).duration_s, 0.5e-3, 1e-9);
}

// Nothing is waited for without a warm-up: the 200 launches hide behind the first kernel, (50 + 0 + 0) / 3 ms each.
TEST(HostThread, RunsAheadWithoutAWarmUp) {
  const Program p = slow_warm_up();
  const Process process{&p, {GpuIndex{0}}};
  EXPECT_NEAR(run(star(1), {&process, 1}, {.warmup = 0, .progress = {}}).duration_s, 50e-3 / 3, 1e-5);
}

}  // namespace
}  // namespace uvmsim
