// Events that follow their causes by one of a few fixed delays: a queue per delay, each in order of time.
#pragma once

#include <array>
#include <cstddef>

#include "base/units.h"
#include "gpu/ring.h"

namespace uvmsim {

template <class Id>
struct TimedEvent {
  Time time{};
  Id id{};
};

// The earliest event first; of several at one time, the lowest level's, then the one pushed first. Pushes of one
// level come in order of time.
template <class Id, std::size_t Levels>
class SpreadQueue {
 public:
  bool empty() const { return time_ == kNever; }
  Time time() const { return time_; }  // of the earliest; kNever: there is none
  void push(std::size_t level, Time time, Id id) {
    if (levels_[level].empty() && (time < time_ || (time == time_ && level < level_))) {
      time_ = time;
      level_ = level;
    }
    levels_[level].push({time, id});
  }
  Id pop() {
    Ring<TimedEvent<Id>>& earliest = levels_[level_];
    const Id id = earliest.front().id;
    earliest.pop();
    // The same level again, unless another one is earlier or as early and lower.
    if (earliest.empty() || earliest.front().time != time_) find_earliest();
    return id;
  }
  void clear() {
    for (auto& level : levels_) level.clear();
    time_ = kNever;
  }

 private:
  void find_earliest() {
    time_ = kNever;
    for (std::size_t level = 0; level < Levels; ++level) {
      if (levels_[level].empty() || levels_[level].front().time >= time_) continue;
      time_ = levels_[level].front().time;
      level_ = level;
    }
  }

  std::array<Ring<TimedEvent<Id>>, Levels> levels_;
  Time time_ = kNever;
  std::size_t level_ = 0;
};

}  // namespace uvmsim
