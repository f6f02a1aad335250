// Runs of CTAs, and of the slots that they run in, that do the same one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <utility>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

// CTA slots of one SM.
struct SlotRun {
  std::int64_t count = 0;
  std::uint16_t sm = 0;

  // Adds `next`, where that is still one run.
  bool join(const SlotRun& next) {
    if (next.sm != sm) return false;
    count += next.count;
    return true;
  }
  void drop_first(std::int64_t n) { count -= n; }
  friend bool operator==(const SlotRun&, const SlotRun&) = default;
};

// CTAs [first, first + count) on one SM, at the same step. `missing`: what each of them waits for (see MissRun).
struct CtaRun {
  std::int64_t first = 0, count = 0;
  std::uint64_t missing = 0;
  std::uint16_t sm = 0;
  std::uint16_t step = 0;

  bool join(const CtaRun& next) {
    if (next.first != first + count || next.missing != missing || next.sm != sm || next.step != step) return false;
    count += next.count;
    return true;
  }
  void drop_first(std::int64_t n) {
    first += n;
    count -= n;
  }
};

// Of `n` events at `first`, first + apart, ...: those before `limit`, and the first one in any case.
inline std::int64_t events_before(Time limit, Time first, Duration apart, std::int64_t n) {
  if (n == 1) return 1;  // mostly: a division less
  if (apart.count() == 0) return limit > first ? n : 1;
  return std::clamp<std::int64_t>((limit - first - Duration{1}) / apart + 1, 1, n);
}

// Of events at one time, which comes first: ascending. That of the i-th of a run is i * apart and i more.
struct EventOrder {
  Time since{};
  std::uint64_t number = 0;
  friend auto operator<=>(const EventOrder&, const EventOrder&) = default;
};

// What an event follows, each by a delay of its own: a step that hit, the end of a miss, the first step of a CTA.
enum class Follows { Hit, Miss, Start };

// Events of runs, seen as one queue in the order of time. That of the i-th of a run comes i * apart after the first
// one's. Those that follow the same are pushed nearly in order.
template <class Run>
class RunEvents {
 public:
  struct Event {
    Time time{};
    Duration apart{};
    EventOrder order;
    Run run;
    bool operator>(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
  };

  bool empty() const {
    return std::all_of(queues_.begin(), queues_.end(), [](const Ring<Event>& queue) { return queue.empty(); });
  }
  const Event& front() const { return queues_[first()].front(); }
  // When the front one comes; kNever: there is none.
  Time next_time() const {
    Time next = kNever;
    for (const Ring<Event>& queue : queues_)
      if (!queue.empty()) next = std::min(next, queue.front().time);
    return next;
  }
  // How many runs begin at `at`, no event being before it; counts to two in each queue.
  std::size_t runs_at(Time at) const {
    std::size_t runs = 0;
    for (const Ring<Event>& queue : queues_)
      for (std::size_t i = 0; i < std::min<std::size_t>(queue.size(), 2); ++i) runs += queue[i].time == at ? 1 : 0;
    return runs;
  }
  // How many of the front run come next, before `limit` and before any other run; those at its own time do in any case.
  std::int64_t due(Time limit) const {
    const Ring<Event>& queue = queues_[first()];
    if (queue.front().apart.count() == 0) return queue.front().run.count;
    for (const Ring<Event>& other : queues_)
      if (&other != &queue && !other.empty()) limit = std::min(limit, other.front().time);
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
    event.order.since += event.apart * n;
    event.order.number += static_cast<std::uint64_t>(n);
    for (std::size_t i = 1; i < queue.size() && queue[i - 1] > queue[i]; ++i) std::swap(queue[i - 1], queue[i]);
  }
  void push(Follows what, const Event& event) {
    Ring<Event>& queue = of(what);
    const Duration apart = event.run.count == 1 ? Duration{0} : event.apart;
    if (!queue.empty() && apart.count() == 0 && joins(queue.back(), event)) return;
    queue.push(event);
    queue.back().apart = apart;
    for (std::size_t i = queue.size() - 1; i > 0 && queue[i - 1] > queue[i]; --i) std::swap(queue[i - 1], queue[i]);
  }
  Ring<Event>& of(Follows what) { return queues_[static_cast<std::size_t>(what)]; }
  void clear() {
    for (Ring<Event>& queue : queues_) queue.clear();
  }

 private:
  std::size_t first() const {
    std::size_t first = 0;
    for (std::size_t i = 1; i < queues_.size(); ++i)
      if (!queues_[i].empty() && (queues_[first].empty() || queues_[first].front() > queues_[i].front())) first = i;
    return first;
  }
  // Events of `event` are at one time.
  static bool joins(Event& last, const Event& event) {
    return last.time == event.time && last.apart.count() == 0 && last.order.since == event.order.since &&
           last.order.number + static_cast<std::uint64_t>(last.run.count) == event.order.number &&
           last.run.join(event.run);
  }

  std::array<Ring<Event>, 3> queues_;
};

}  // namespace uvmsim
