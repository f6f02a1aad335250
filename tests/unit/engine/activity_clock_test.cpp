#include "engine/activity_clock.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

constexpr Time s(double t) { return from_seconds(t); }

// 0..1 idle; 1..9 a kernel; 3..7 a batch, its CPU part 3..4, then a copy out 4..5, a copy in 5..6, the replay 6..7.
TEST(ActivityClock, EachInstantHasOneCause) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(1));
  c.batch_begins(s(3));
  c.lower(ActivityClock::Cpu, s(4));
  c.raise(ActivityClock::CopyOut, s(4));
  c.lower(ActivityClock::CopyOut, s(5));
  c.raise(ActivityClock::CopyIn, s(5));
  c.lower(ActivityClock::CopyIn, s(6));
  c.lower(ActivityClock::Batch, s(7));
  c.lower(ActivityClock::Kernel, s(9));
  const TimeSplit split = c.split(s(10));
  EXPECT_DOUBLE_EQ(split.idle_s, 2);
  EXPECT_DOUBLE_EQ(split.compute_s, 4);
  EXPECT_DOUBLE_EQ(split.fault_cpu_s, 2);
  EXPECT_DOUBLE_EQ(split.eviction_s, 1);
  EXPECT_DOUBLE_EQ(split.copy_in_s, 1);
  EXPECT_DOUBLE_EQ(split.total(), 10);
}

// While the CPU works a copy is hidden; while both directions copy, the eviction counts.
TEST(ActivityClock, TheFirstCauseInOrderWins) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(0));
  c.batch_begins(s(0));
  c.raise(ActivityClock::CopyIn, s(0));
  c.raise(ActivityClock::CopyOut, s(1));
  c.lower(ActivityClock::Cpu, s(2));
  const TimeSplit split = c.split(s(3));
  EXPECT_DOUBLE_EQ(split.fault_cpu_s, 2);
  EXPECT_DOUBLE_EQ(split.eviction_s, 1);
  EXPECT_DOUBLE_EQ(split.copy_in_s, 0);
}

// A copy in of 4 s that would have taken 1 alone: 3 s were waiting for the link.
TEST(ActivityClock, SlowerThanAloneIsWaitingForTheLink) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(0));
  c.raise(ActivityClock::Batch, s(0));
  c.raise(ActivityClock::CopyIn, s(0));
  c.copy_waited(s(0), s(3), ActivityClock::CopyIn, s(4));
  const TimeSplit split = c.split(s(4));
  EXPECT_DOUBLE_EQ(split.copy_in_s, 1);
  EXPECT_DOUBLE_EQ(split.link_wait_s, 3);
}

}  // namespace
}  // namespace uvmsim
