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

// Copies in 0..4 s and 4..6 s, read at 5 s. The second waited for its link all the time; 1 s of its 2 is after the
// reading: that much of the second interval was waiting, and nothing of the first one.
TEST(ActivityClock, WhatWasReadStays) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(0));
  c.raise(ActivityClock::Batch, s(0));
  c.raise(ActivityClock::CopyIn, s(0));
  c.lower(ActivityClock::CopyIn, s(4));
  c.raise(ActivityClock::CopyIn, s(4));
  const TimeSplit first = c.split(s(5));
  c.copy_waited(s(4), s(2), ActivityClock::CopyIn, s(6));
  const TimeSplit second = c.split(s(6));
  EXPECT_DOUBLE_EQ(first.copy_in_s, 5);
  EXPECT_DOUBLE_EQ(second.copy_in_s - first.copy_in_s, 0);
  EXPECT_DOUBLE_EQ(second.link_wait_s - first.link_wait_s, 1);
  EXPECT_DOUBLE_EQ(second.total(), 6);
}

// A copy out of 4 s waited for its link for 3 s, all of them while the CPU worked: none of its time shows, and that of
// the copy before it is not taken for its waiting.
TEST(ActivityClock, HiddenWaitingIsNotTakenFromEarlierCopies) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(0));
  c.raise(ActivityClock::Batch, s(0));
  c.raise(ActivityClock::CopyOut, s(0));
  c.lower(ActivityClock::CopyOut, s(2));
  c.raise(ActivityClock::Cpu, s(2));
  c.raise(ActivityClock::CopyOut, s(2));
  c.copy_waited(s(2), s(3), ActivityClock::CopyOut, s(6));
  const TimeSplit split = c.split(s(6));
  EXPECT_DOUBLE_EQ(split.eviction_s, 2);
  EXPECT_DOUBLE_EQ(split.link_wait_s, 0);
  EXPECT_DOUBLE_EQ(split.fault_cpu_s, 4);
}

// A copy that a kernel's faults began goes on while the next kernel runs: the waiting of 3 s is that kernel's as far as
// its own time reaches.
TEST(ActivityClock, WaitingIsNotTakenFromAnEarlierKernel) {
  ActivityClock c;
  c.raise(ActivityClock::Kernel, s(0));
  c.raise(ActivityClock::Batch, s(0));
  c.raise(ActivityClock::CopyIn, s(0));
  c.lower(ActivityClock::Kernel, s(3));
  c.raise(ActivityClock::Kernel, s(3));
  const KernelTime before = c.kernel_time(s(3));
  c.copy_waited(s(0), s(3), ActivityClock::CopyIn, s(4));
  const KernelTime during = c.kernel_time(s(4)) - before;
  EXPECT_EQ(during.copy_in, s(0));
  EXPECT_EQ(during.link_wait, s(1));
}

}  // namespace
}  // namespace uvmsim
