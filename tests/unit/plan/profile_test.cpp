#include "plan/profile.h"

#include <gmock/gmock.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;

trace::Kernel lasting(std::int64_t microseconds) { return {.duration_ns = microseconds * 1000}; }

// Two layers, forward and backward; times in microseconds, sizes in KiB. w (held) is 4, a and b are 8 and 16.
//   k0  forward   w -> a      10 us   live 4 + 8          = 12
//   k1  forward   a -> b      20 us   live 4 + 8 + 16     = 28
//   k2  forward   b           30 us   live 28
//   k3  backward  b           40 us   live 28; then b is freed
//   k4  backward  a, w        50 us   live 12; then a is freed
trace::Trace two_layers(int iterations) {
  TraceBuilder t({});
  const auto w = t.allocate(Bytes{4 << 10}, TensorKind::Param);
  for (int i = 0; i < iterations; ++i) {
    t.iteration(i);
    t.phase("forward");
    const auto a = t.allocate(Bytes{8 << 10}, TensorKind::Activation);
    t.layer(t.string("first"));
    t.kernel("f0", lasting(10), {reads(w), writes(a)});
    const auto b = t.allocate(Bytes{16 << 10}, TensorKind::Activation);
    t.layer(t.string("second"));
    t.kernel("f1", lasting(20), {reads(a), writes(b)});
    t.kernel("loss", lasting(30), {reads(b)});
    t.phase("backward");
    t.kernel("b1", lasting(40), {reads(b)});
    t.free(b);
    t.layer(t.string("first"));
    t.kernel("b0", lasting(50), {reads(a), updates(w)});
    t.free(a);
  }
  return t.take();
}

// A link of 1 byte a nanosecond: 8 KiB take 8.192 us.
const ProfileSetting kSetting = {.links = {BytesPerSecond{1'000'000'000}, BytesPerSecond{1'000'000'000}, {}}};

TEST(Profile, KernelsStartWhenTheOneBeforeEnds) {
  const auto profiles = profile_iterations(two_layers(2), DeviceOrdinal{0}, GpuIndex{3}, kSetting);
  ASSERT_EQ(profiles.size(), 1u);  // both iterations are alike
  const Profile& p = profiles[0];
  EXPECT_EQ(p.gpu, GpuIndex{3});
  EXPECT_EQ(p.shape(), (IterationShape{.kernels = 5, .held = 1, .made = 2}));
  EXPECT_THAT(p.starts.all(),
              ElementsAre(Time{0}, microseconds(10), microseconds(30), microseconds(60), microseconds(100)));
  EXPECT_EQ(p.length, microseconds(150));
  EXPECT_EQ(p.graph->first_kernel_of("backward"), 3);
  EXPECT_EQ(p.graph->first_kernel_of("optimizer"), -1);
}

// Launches of 25 us: the host launches kernel k at 25 (k + 1) us, later than the kernel before it ends until 100 us.
TEST(Profile, NoKernelStartsBeforeTheHostHasLaunchedIt) {
  ProfileSetting setting = kSetting;
  setting.launch = microseconds(25);
  const Profile p = profile_iterations(two_layers(1), DeviceOrdinal{0}, GpuIndex{0}, setting).at(0);
  EXPECT_EQ(p.start(0), microseconds(25));
  EXPECT_EQ(p.start(1), microseconds(50));
  EXPECT_EQ(p.start(2), microseconds(75));
  EXPECT_EQ(p.start(3), microseconds(105));
  EXPECT_EQ(p.length, microseconds(195));
}

TEST(Profile, LoadIsWhatIsHeldWhileAKernelIsPreparedAndRuns) {
  const Profile p = profile_iterations(two_layers(2), DeviceOrdinal{0}, GpuIndex{0}, kSetting).at(0);
  EXPECT_THAT(p.graph->load, ElementsAre(12 << 10, 28 << 10, 28 << 10, 28 << 10, 28 << 10));
  EXPECT_EQ(p.peak(), 28 << 10);
}

// b is freed before the launch of k4, but an allocation in between would still have found it held.
TEST(Profile, AFreeCountsForTheKernelAfterTheNextLaunch) {
  TraceBuilder t({});
  t.iteration(0);
  const auto a = t.allocate(Bytes{8 << 10}, TensorKind::Activation);
  t.kernel("x", lasting(1), {writes(a)});
  t.free(a);
  const auto b = t.allocate(Bytes{8 << 10}, TensorKind::Activation);
  t.kernel("y", lasting(1), {writes(b)});
  const auto c = t.allocate(Bytes{8 << 10}, TensorKind::Activation);
  t.free(b);
  t.kernel("z", lasting(1), {writes(c)});
  const Profile p = profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, kSetting).at(0);
  EXPECT_THAT(p.graph->load, ElementsAre(8 << 10, 8 << 10, 16 << 10));
}

// a is idle from the end of k1 (30 us) to the start of k4 (100 us): 70 us, of which two copies of 8.192 us
// leave 53.616. w from the end of k0 (10) to k4 (100), and from k4 (150) to k0 of the next iteration (150): no kernel
// in between. b has no kernel between its uses.
TEST(Profile, AnIntervalIsBetweenTwoUsesWithAKernelInBetween) {
  const Profile p = profile_iterations(two_layers(2), DeviceOrdinal{0}, GpuIndex{0}, kSetting).at(0);
  ASSERT_EQ(p.intervals.size(), 2u);
  const Interval& w = p.intervals[0];
  EXPECT_EQ(w.tensor, 0);
  EXPECT_EQ(w.gap, microseconds(90));
  EXPECT_FALSE(w.wraps);
  const Interval& a = p.intervals[1];
  EXPECT_EQ(a.tensor, 1);
  EXPECT_EQ(a.last_use, 1);
  EXPECT_EQ(a.next_use, 4);
  EXPECT_EQ(a.bytes, 8 << 10);
  EXPECT_EQ(a.gap, microseconds(70));
  EXPECT_EQ(a.slack, microseconds(70) - microseconds(2 * 8.192));
  EXPECT_FALSE(a.dead);
  EXPECT_FALSE(a.spans(1));
  EXPECT_TRUE(a.spans(2));
  EXPECT_TRUE(a.spans(3));
  EXPECT_FALSE(a.spans(4));
  // Without w and a at k2 and k3, without w at k1: 28 - 12, 28 - 4.
  EXPECT_THAT(p.floor(), ElementsAre(12 << 10, 24 << 10, 16 << 10, 16 << 10, 28 << 10));
}

// A held tensor used by the second of three kernels only: idle after it and before it, 1 + 1 us, in one interval.
TEST(Profile, AHeldTensorsLastIntervalReachesIntoTheNextIteration) {
  TraceBuilder t({});
  const auto w = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  t.kernel("x", lasting(1), {});
  t.kernel("y", lasting(5), {writes(w)});
  t.kernel("z", lasting(1), {});
  const Profile p = profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, kSetting).at(0);
  ASSERT_EQ(p.intervals.size(), 1u);
  EXPECT_TRUE(p.intervals[0].wraps);
  EXPECT_TRUE(p.intervals[0].dead);  // the next use overwrites it
  EXPECT_EQ(p.intervals[0].gap, microseconds(2));
  EXPECT_TRUE(p.intervals[0].spans(0));
  EXPECT_TRUE(p.intervals[0].spans(2));
  EXPECT_THAT(p.floor(), ElementsAre(0, 512, 0));
}

// An all-reduce between k0 and k1 keeps its operand there for both.
TEST(Profile, ACollectiveBetweenTwoKernelsUsesItsOperandDuringBoth) {
  TraceBuilder t({});
  const auto g = t.allocate(Bytes{512}, TensorKind::WeightGradient);
  t.iteration(0);
  t.kernel("x", lasting(1), {});
  t.collective({.bytes = 512}, {updates(g)});
  t.kernel("y", lasting(1), {});
  t.kernel("z", lasting(1), {});
  const Profile p = profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, kSetting).at(0);
  EXPECT_THAT(p.graph->tensors[0].uses, ElementsAre(0, 1));
}

// The first iteration sets up what the others hold: two shapes, the second of them the steady one.
TEST(Profile, IterationsOfAnotherShapeHaveAProfileOfTheirOwn) {
  TraceBuilder t({});
  trace::TensorId state = 0;
  for (int i = 0; i < 3; ++i) {
    t.iteration(i);
    if (i == 0) state = t.allocate(Bytes{512}, TensorKind::Optimizer);
    t.kernel("x", lasting(1), {updates(state)});
  }
  const auto profiles = profile_iterations(t.take(), DeviceOrdinal{0}, GpuIndex{0}, kSetting);
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(profiles[0].shape(), (IterationShape{1, 0, 1}));
  EXPECT_EQ(profiles[1].shape(), (IterationShape{1, 1, 0}));
}

TEST(Profile, AllocationsHoldWholeUnitsOf512Bytes) {
  EXPECT_EQ(held_bytes(1), 512);
  EXPECT_EQ(held_bytes(512), 512);
  EXPECT_EQ(held_bytes(513), 1024);
}

}  // namespace
}  // namespace uvmsim
