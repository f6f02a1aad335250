// What both timeline formats share: in which order rows stand, and which numbers they have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/timeline.h"

namespace uvmsim {

// A group of rows and counters, in the viewer a process.
struct TimelineGroup {
  std::string name;
  std::vector<const TimelineRow*> rows;
  std::vector<const TimelineCounter*> counters;
  std::vector<const TimelineMark*> marks;
};

// GPUs first, then processes, then links; within a group the order in which things were first heard of. Rows without
// slices are left out.
std::vector<TimelineGroup> timeline_groups(const Timeline& timeline);

// What a slice is called: its name, or for a merged one how many it stands for.
std::string slice_name(const Timeline& timeline, const TimelineSlice& slice);

// One value of a counter from a time on.
struct CounterValue {
  Time at{};
  double value = 0;
};

// At most `most` values; each is the highest level, or the mean rate, until the next.
std::vector<CounterValue> counter_values(const TimelineCounter& counter, Time end, std::size_t most);

}  // namespace uvmsim
