// Runs of CTAs, and of the slots that they run in, that do the same one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

// CTA slots on SMs of one µTLB group.
struct SlotRun {
  std::int64_t count = 0;
  std::uint16_t group = 0;

  // Adds `next`, where that is still one run.
  bool join(const SlotRun& next) {
    if (next.group != group) return false;
    count += next.count;
    return true;
  }
  void drop_first(std::int64_t n) { count -= n; }
};

// CTAs [first, first + count) on SMs of one µTLB group, at the same step. `missing`: the touches of the step that each
// of them waits for, bit i is touch i of KernelProgram::step. `streak`: of the first one, as StepQueue has it, that of
// the next one is one more.
struct CtaRun {
  std::int64_t first = 0, count = 0;
  std::uint64_t missing = 0, streak = 0;
  std::uint16_t group = 0;
  std::uint16_t step = 0;

  bool join(const CtaRun& next) {
    if (next.first != first + count || next.missing != missing || next.group != group || next.step != step)
      return false;
    count += next.count;
    return true;
  }
  void drop_first(std::int64_t n) {
    first += n;
    count -= n;
    streak += static_cast<std::uint64_t>(n);
  }
};

// Of `n` events at `first`, first + apart, ...: those before `limit`, and the first one in any case.
inline std::int64_t events_before(Time limit, Time first, Duration apart, std::int64_t n) {
  if (apart.count() == 0) return limit > first ? n : 1;
  return std::clamp<std::int64_t>((limit - first - Duration{1}) / apart + 1, 1, n);
}

// Events of runs that follow their causes by one of two delays, seen as one queue in the order of time. That of the
// i-th of a run comes i * apart after the first one's.
template <class Run>
class RunEvents {
 public:
  struct Event {
    Time time{};
    Duration apart{};
    std::uint64_t order = 0;  // at one time, ascending; that of the next one of the run is one more
    Run run;
    bool operator>(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
  };

  bool empty() const { return queues_[0].empty() && queues_[1].empty(); }
  const Event& front() const { return queues_[first()].front(); }
  // How many of the front run come next, before `limit` and before any other run; those at its own time do in any case.
  std::int64_t due(Time limit) const {
    const Ring<Event>&queue = queues_[first()], &other = queues_[1 - first()];
    if (queue.front().apart.count() == 0) return queue.front().run.count;
    if (!other.empty()) limit = std::min(limit, other.front().time);
    if (queue.size() > 1) limit = std::min(limit, queue[1].time);
    return events_before(limit, queue.front().time, queue.front().apart, queue.front().run.count);
  }
  // Removes the first `n` of the front run.
  void pop(std::int64_t n) {
    Ring<Event>& queue = queues_[first()];
    Event& event = queue.front();
    if (n == event.run.count) return queue.pop();
    event.run.drop_first(n);
    event.time += event.apart * n;
    event.order += static_cast<std::uint64_t>(n);
    for (std::size_t i = 1; i < queue.size() && queue[i - 1] > queue[i]; ++i) std::swap(queue[i - 1], queue[i]);
  }
  // `late`: by the second delay. Events of one delay are pushed nearly in order.
  void push(bool late, Event event) {
    Ring<Event>& queue = queues_[late ? 1 : 0];
    if (event.run.count == 1) event.apart = Duration{0};
    if (!queue.empty() && joins(queue.back(), event)) return;
    queue.push(event);
    for (std::size_t i = queue.size() - 1; i > 0 && queue[i - 1] > queue[i]; --i) std::swap(queue[i - 1], queue[i]);
  }
  void clear() {
    for (Ring<Event>& queue : queues_) queue.clear();
  }

 private:
  std::size_t first() const {
    if (queues_[1].empty()) return 0;
    return queues_[0].empty() || queues_[0].front() > queues_[1].front() ? 1 : 0;
  }
  static bool joins(Event& last, const Event& event) {
    return last.time == event.time && last.apart.count() == 0 && event.apart.count() == 0 &&
           last.order + static_cast<std::uint64_t>(last.run.count) == event.order && last.run.join(event.run);
  }

  std::array<Ring<Event>, 2> queues_;
};

}  // namespace uvmsim
