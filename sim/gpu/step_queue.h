// The steps that agents will make, in the order of their times; at one time, whoever has gone on for longest without a
// miss comes first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

class StepQueue {
 public:
  struct Event {
    Time time{};
    std::uint64_t streak = 0;  // ascending: when the agent's last miss ended, or its first step began
    std::uint32_t agent = 0;
    std::int64_t skipped = 0;  // steps before this one, which will hit as long as no page goes
    bool operator>(const Event& o) const { return time != o.time ? time > o.time : streak > o.streak; }
  };

  bool empty() const { return soon_[0].empty() && soon_[1].empty() && skipping_.empty(); }
  const Event& front() const {
    const Event* first = nullptr;
    for (const Ring<Event>& ring : soon_)
      if (!ring.empty() && (first == nullptr || *first > ring.front())) first = &ring.front();
    if (!skipping_.empty() && (first == nullptr || *first > skipping_.front())) first = &skipping_.front();
    return *first;
  }
  void pop() {
    const Event& first = front();
    for (Ring<Event>& ring : soon_)
      if (!ring.empty() && &first == &ring.front()) return ring.pop();
    std::pop_heap(skipping_.begin(), skipping_.end(), std::greater{});
    skipping_.pop_back();
  }
  // Steps that follow the one before by one of two delays are pushed in the order of their times.
  void push(bool late, const Event& event) {
    if (event.skipped > 0) {
      skipping_.push_back(event);
      std::push_heap(skipping_.begin(), skipping_.end(), std::greater{});
      return;
    }
    Ring<Event>& ring = soon_[late ? 1 : 0];
    ring.push(event);
    for (std::size_t i = ring.size() - 1; i > 0 && ring[i - 1] > ring[i]; --i) std::swap(ring[i - 1], ring[i]);
  }
  // Nothing is skipped after `at`, where `step` is between two steps: `go_back(agent, steps)` for each that had been.
  template <class GoBack>
  void roll_back(Time at, Duration step, GoBack go_back) {
    for (Event& event : skipping_) {
      // Those at times in (at, event.time).
      std::int64_t ahead = event.skipped;
      if (event.time <= at)
        ahead = 0;
      else if (step.count() > 0)
        ahead = std::min(ahead, (event.time - at - Duration{1}) / step);
      event.time -= step * ahead;
      event.skipped = 0;
      go_back(event.agent, ahead);
    }
    std::make_heap(skipping_.begin(), skipping_.end(), std::greater{});
  }
  void clear() {
    for (Ring<Event>& ring : soon_) ring.clear();
    skipping_.clear();
  }

 private:
  std::array<Ring<Event>, 2> soon_;
  std::vector<Event> skipping_;  // a heap
};

}  // namespace uvmsim
