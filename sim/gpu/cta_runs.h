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

  bool empty() const { return next_ == kNever; }
  const Event& front() const { return queues_[first_].front(); }
  // When the front one comes; kNever: there is none.
  Time next_time() const { return next_; }
  // Another run begins when the front one does.
  bool more_at_front() const {
    const Ring<Event>& queue = queues_[first_];
    return (queue.size() > 1 && queue[1].time == next_) || next_of_others() == next_;
  }
  // How many of the front run come next, before `limit` and before any other run; those at its own time do in any case.
  std::int64_t due(Time limit) const {
    const Ring<Event>& queue = queues_[first_];
    if (queue.front().apart.count() == 0) return queue.front().run.count;
    limit = std::min(limit, next_of_others());
    if (queue.size() > 1) limit = std::min(limit, queue[1].time);
    return events_before(limit, queue.front().time, queue.front().apart, queue.front().run.count);
  }
  // Removes the first `n` of the front run.
  void pop(std::int64_t n) {
    Ring<Event>& queue = queues_[first_];
    Event& event = queue.front();
    if (n == event.run.count) {
      queue.pop();
    } else {
      event.run.drop_first(n);
      event.time += event.apart * n;
      event.order.since += event.apart * n;
      event.order.number += static_cast<std::uint64_t>(n);
      for (std::size_t i = 1; i < queue.size() && queue[i - 1] > queue[i]; ++i) std::swap(queue[i - 1], queue[i]);
    }
    find_first();
  }
  void push(Follows what, const Event& event) {
    Ring<Event>& queue = queues_[static_cast<std::size_t>(what)];
    const Duration apart = event.run.count == 1 ? Duration{0} : event.apart;
    if (!queue.empty() && apart.count() == 0 && joins(queue.back(), event)) return;
    queue.push(event);
    queue.back().apart = apart;
    for (std::size_t i = queue.size() - 1; i > 0 && queue[i - 1] > queue[i]; --i) std::swap(queue[i - 1], queue[i]);
    if (event.time <= next_) find_first();
  }
  // Shortens the runs that follow `what`, the last one first, to what `visit` returns, until that leaves one as it is.
  template <class Visit>
  void take_back(Follows what, Visit visit) {
    Ring<Event>& queue = queues_[static_cast<std::size_t>(what)];
    while (!queue.empty()) {
      Event& last = queue.back();
      const std::int64_t count = last.run.count;
      last.run.count = visit(std::as_const(last));
      if (last.run.count == count) break;
      if (last.run.count == 0) queue.pop_back();
    }
    find_first();
  }
  void clear() {
    for (Ring<Event>& queue : queues_) queue.clear();
    find_first();
  }

 private:
  void find_first() {
    first_ = 0;
    for (std::size_t i = 1; i < queues_.size(); ++i)
      if (!queues_[i].empty() && (queues_[first_].empty() || queues_[first_].front() > queues_[i].front())) first_ = i;
    next_ = queues_[first_].empty() ? kNever : queues_[first_].front().time;
  }
  Time next_of_others() const {
    Time next = kNever;
    for (std::size_t i = 0; i < queues_.size(); ++i)
      if (i != first_ && !queues_[i].empty()) next = std::min(next, queues_[i].front().time);
    return next;
  }
  // Events of `event` are at one time.
  static bool joins(Event& last, const Event& event) {
    return last.time == event.time && last.apart.count() == 0 && last.order.since == event.order.since &&
           last.order.number + static_cast<std::uint64_t>(last.run.count) == event.order.number &&
           last.run.join(event.run);
  }

  std::array<Ring<Event>, 3> queues_;
  std::size_t first_ = 0;  // of queues_: that of the front event
  Time next_ = kNever;     // when that comes
};

}  // namespace uvmsim
