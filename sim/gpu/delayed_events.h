// Events that follow their causes by one of two delays: a queue for each, seen as one in the order of time.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

template <class Id>
class DelayedEvents {
 public:
  struct Event {
    Time time{};
    std::uint64_t order = 0;  // of its scheduling, for events at one time
    Id id{};
  };

  bool empty() const { return queues_[0].empty() && queues_[1].empty(); }
  const Event& front() const { return queues_[first()].front(); }
  void pop() { queues_[first()].pop(); }
  // `late`: by the second delay. The events of one delay are scheduled in the order of their times.
  void push(bool late, Time time, Id id) { queues_[late ? 1 : 0].push({time, order_++, id}); }
  void clear() {
    for (Ring<Event>& queue : queues_) queue.clear();
  }

 private:
  std::size_t first() const {
    if (queues_[1].empty()) return 0;
    if (queues_[0].empty()) return 1;
    const Event &a = queues_[0].front(), &b = queues_[1].front();
    return a.time < b.time || (a.time == b.time && a.order < b.order) ? 0 : 1;
  }

  std::array<Ring<Event>, 2> queues_;
  std::uint64_t order_ = 0;
};

}  // namespace uvmsim
