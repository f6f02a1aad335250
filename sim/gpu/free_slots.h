// The CTA slots of a GPU that no CTA has, in the order in which CTAs take them: the one that has been free for longest
// first, or that will be free first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/cta_runs.h"
#include "gpu/ring.h"

namespace uvmsim {

// Which slot of a µTLB group is free does not matter: runs of slots of a group.
class FreeSlots {
 public:
  // The i-th slot is free from time + i * apart on.
  struct Run {
    Time time{};
    Duration apart{};
    SlotRun slots;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // All slots [0, slots) are free at `at`: one of each SM, then the next one of each. SM s belongs to group
  // s mod groups.
  void reset(std::int64_t sms, std::int64_t groups, std::int64_t slots, Time at) {
    first_.clear();
    after_stall_.clear();
    after_hit_.clear();
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      const SlotRun one{1, static_cast<std::uint16_t>(slot % sms % groups)};
      if (first_.empty() || !first_.back().slots.join(one)) first_.push({at, Duration{0}, one});
    }
  }
  // Of CTAs that stalled, in the order in which these ended; `late`: their last step missed. At one time they come
  // before those of CTAs that did not.
  void add_after_stall(bool late, const Run& run) {
    after_stall_.push(late ? Follows::Miss : Follows::Hit, {run.time, run.apart, {Time{}, stalled_}, run.slots});
    stalled_ += static_cast<std::uint64_t>(run.slots.count);
  }
  // Of CTAs that did not stall: in the order of time.
  void add_after_hit(const Run& run) {
    if (!after_hit_.empty() && continues(after_hit_.back(), run)) {
      Run& last = after_hit_.back();
      last.apart = run.time - last.time - last.apart * (last.slots.count - 1);
      last.slots.count += run.slots.count;
    } else {
      after_hit_.push(run);
    }
  }
  // Slots that were taken first of all after all, by CTAs that would start when these are said to be free.
  void give_back(const Run& run) { first_.push_front(run); }

  bool empty() const { return first_.empty() && after_stall_.empty() && after_hit_.empty(); }
  // Not empty: the next slots of one group.
  Run front() const {
    if (!first_.empty()) return first_.front();
    if (stall_is_first()) {
      const auto& event = after_stall_.front();
      const Time limit = after_hit_.empty() ? kNever : after_hit_.front().time + Duration{1};
      return {event.time, event.apart, {after_stall_.due(limit), event.run.group}};
    }
    Run run = after_hit_.front();
    if (!after_stall_.empty())
      run.slots.count = events_before(after_stall_.front().time, run.time, run.apart, run.slots.count);
    return run;
  }
  // Since when, or from when on, the next one is free.
  Time next_time() const {
    if (!first_.empty()) return first_.front().time;
    const Time hit = after_hit_.empty() ? kNever : after_hit_.front().time;
    return std::min(after_stall_.next_time(), hit);
  }
  // Takes `n` of front().
  void take(std::int64_t n) {
    if (!first_.empty()) return drop(first_, n);
    if (stall_is_first()) return after_stall_.pop(n);
    drop(after_hit_, n);
  }

  // Of slots that CTAs without a miss have, those that have not been taken again.
  Ring<Run>& after_hit() { return after_hit_; }
  const Ring<Run>& after_hit() const { return after_hit_; }
  // From when on there may be others.
  Time others() const {
    if (!first_.empty()) return first_.front().time;
    return after_stall_.empty() ? kNever : after_stall_.front().time;
  }

 private:
  bool stall_is_first() const {
    const Time stall = after_stall_.next_time();
    return stall != kNever && (after_hit_.empty() || stall <= after_hit_.front().time);
  }
  static bool continues(const Run& last, const Run& next) {
    if (last.slots.group != next.slots.group) return false;
    const Duration gap = next.time - last.time - last.apart * (last.slots.count - 1);
    return (last.slots.count == 1 || gap == last.apart) && (next.slots.count == 1 || gap == next.apart);
  }
  static void drop(Ring<Run>& runs, std::int64_t n) {
    Run& run = runs.front();
    run.time += run.apart * n;
    run.slots.drop_first(n);
    if (run.slots.count == 0) runs.pop();
  }

  Ring<Run> first_;
  RunEvents<SlotRun> after_stall_;
  std::uint64_t stalled_ = 0;
  Ring<Run> after_hit_;
};

}  // namespace uvmsim
