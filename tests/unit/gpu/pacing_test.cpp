#include "gpu/pacing.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

// Two SMs that hold two CTAs of 1024 threads each: four slots. Memory takes 1 ms for a million bytes.
GpuSpec small_gpu() {
  GpuSpec gpu;
  gpu.sms = 2;
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = 32;
  gpu.memory_bandwidth = BytesPerSecond{1'000'000'000};
  gpu.fault.touch_latency = nanoseconds(600);
  gpu.fault.cta_start = nanoseconds(300);
  return gpu;
}

// Of 12 CTAs, three waves, that access a million bytes.
Pacing pacing(trace::Mode mode, Duration in_core, int registers = 0) {
  const Operand operand{.address = kManagedBase, .bytes = 1'000'000, .mode = mode};
  const auto program = make_kernel_program({.grid = 12, .block = 1024, .registers = registers}, {&operand, 1}, {});
  EXPECT_EQ(program->ctas(), 12);
  return {small_gpu(), *program, in_core};
}

constexpr Duration kMillisecond = nanoseconds(1'000'000);

// 4 ms are more than twice the 1 ms of traffic. CTAs start 150 ns apart, an SM every 300 ns; three turns of a slot take
// 4 ms less the 3 x 150 ns that the last slot is late, and 300 ns lie between two turns.
TEST(Pacing, ACtaTakesItsShareOfAKernelThatComputes) {
  const Pacing p = pacing(trace::Mode::Read, 4 * kMillisecond);
  EXPECT_EQ(p.slots, 4);
  EXPECT_EQ(p.dispatch, nanoseconds(150));
  EXPECT_EQ(p.cta_start, nanoseconds(300));
  EXPECT_NEAR(seconds(p.residence), (4e-3 - 450e-9 - 2 * 300e-9) / 3, 1e-10);
}

// 64 registers of 1024 threads are all that an SM has.
TEST(Pacing, ACtaHasASmForItselfWhereRegistersSaySo) {
  EXPECT_EQ(pacing(trace::Mode::Read, kMillisecond, 32).slots, 4);
  EXPECT_EQ(pacing(trace::Mode::Read, kMillisecond, 64).slots, 2);
}

// Half of 2 ms is traffic. CTAs end soon, and start at even distances.
TEST(Pacing, MemoryServesTheCtasOfAKernelThatItBinds) {
  const Pacing p = pacing(trace::Mode::Read, 2 * kMillisecond);
  EXPECT_LE(p.step, nanoseconds(600));
  EXPECT_NEAR(seconds(p.dispatch), (2e-3 - seconds(p.residence)) / 11, 1e-10);
}

// What is read and written goes to memory twice: 4 ms are no more than twice 2 ms.
TEST(Pacing, AnUpdateIsTwiceTheTraffic) {
  EXPECT_LE(pacing(trace::Mode::ReadWrite, 4 * kMillisecond).step, nanoseconds(600));
}

}  // namespace
}  // namespace uvmsim
