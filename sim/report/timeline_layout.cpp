#include "report/timeline_layout.h"

#include <algorithm>

namespace uvmsim {
namespace {

int rank(const std::string& group) { return group.starts_with("gpu") ? 0 : group.starts_with("process") ? 1 : 2; }

}  // namespace

std::vector<TimelineGroup> timeline_groups(const Timeline& timeline) {
  std::vector<TimelineGroup> groups;
  const auto group = [&](const std::string& name) -> TimelineGroup& {
    const auto found = std::ranges::find(groups, name, &TimelineGroup::name);
    return found != groups.end() ? *found : groups.emplace_back(TimelineGroup{name, {}, {}, {}});
  };
  for (const TimelineRow& r : timeline.rows())
    if (!r.slices.empty()) group(r.group).rows.push_back(&r);
  for (const TimelineMark& m : timeline.marks()) group(m.group).marks.push_back(&m);
  for (const TimelineCounter& c : timeline.counters())
    if (!c.is_flow || c.flow.total() > 0) group(c.group).counters.push_back(&c);
  std::ranges::stable_sort(groups, {}, [](const TimelineGroup& g) { return std::pair(rank(g.name), g.name); });
  return groups;
}

std::string slice_name(const Timeline& timeline, const TimelineSlice& slice) {
  if (slice.count > 1) return std::to_string(slice.count) + " merged";
  return timeline.name(slice.name);
}

std::vector<CounterValue> counter_values(const TimelineCounter& counter, Time end, std::size_t most) {
  const Time origin = counter.is_flow ? counter.flow.origin() : counter.level.origin();
  const SeriesPicture picture = counter.is_flow ? counter.flow.picture(end, most) : counter.level.picture(end, most);
  std::vector<CounterValue> values;
  Time at = origin;
  for (const SeriesPoint& point : picture.points) {
    const double value = counter.scale * (counter.is_flow ? point.mean : point.peak);
    if (values.empty() || values.back().value != value) values.push_back({at, value});
    at += picture.step;
  }
  return values;
}

}  // namespace uvmsim
