// The CTA slots of a GPU that no CTA has, in the order in which CTAs take them: the one that has been free for longest
// first, or that will be free first. Of those that come free at one time it is one on a random SM.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/cta_runs.h"
#include "gpu/ring.h"
#include "gpu/sm_set.h"

namespace uvmsim {

// Where CTA `cta` looks for a slot first, of several that came free at one time: random, and the same on every machine
// and in every launch.
inline std::uint32_t first_sm_to_ask(std::int64_t cta, std::int64_t sms) {
  std::uint64_t key = static_cast<std::uint64_t>(cta) * 0x9e3779b97f4a7c15ULL;  // splitmix64
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>((key >> 32) * static_cast<std::uint64_t>(sms) >> 32);
}

// Which slot of an SM is free does not matter: runs of slots of an SM.
class FreeSlots {
 public:
  // The i-th slot is free from time + i * apart on.
  struct Run {
    Time time{};
    Duration apart{};
    SlotRun slots;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // All slots [0, slots) are free at `at`, and taken in turn: one of each SM, then the next one of each.
  void reset(std::int64_t sms, std::int64_t slots, Time at) {
    sms_ = sms;
    first_.clear();
    after_stall_.clear();
    after_hit_.clear();
    together_.reset(sms);
    for (std::int64_t slot = 0; slot < slots; ++slot)
      first_.push({at, Duration{0}, {1, static_cast<std::uint16_t>(slot % sms)}});
  }
  // Of CTAs that stalled, in the order in which these ended; `late`: their last step missed.
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

  bool empty() const { return first_.empty() && together_.empty() && after_stall_.empty() && after_hit_.empty(); }
  // Not empty: the next slots of one SM, for CTAs from `cta` on. Every slot that comes free at next_time() is known.
  Run front(std::int64_t cta) {
    if (!first_.empty()) return first_.front();
    gather();
    if (!together_.empty()) return {together_.time, Duration{0}, {1, together_.pick(cta, sms_)}};
    if (stall_is_first()) {
      const auto& event = after_stall_.front();
      return {event.time, event.apart, {after_stall_.due(next_hit_time()), event.run.sm}};
    }
    Run run = after_hit_.front();
    if (!after_stall_.empty())
      run.slots.count = events_before(after_stall_.front().time, run.time, run.apart, run.slots.count);
    if (after_hit_.size() > 1)
      run.slots.count = events_before(after_hit_[1].time, run.time, run.apart, run.slots.count);
    return run;
  }
  // Since when, or from when on, the next one is free.
  Time next_time() const {
    if (!first_.empty()) return first_.front().time;
    if (!together_.empty()) return together_.time;
    return next_run_time();
  }
  // Takes `n` of the front ones, which are on `sm`.
  void take(std::uint16_t sm, std::int64_t n) {
    if (!first_.empty()) return drop(first_, n);
    if (!together_.empty()) return together_.take(sm);
    if (stall_is_first()) return after_stall_.pop(n);
    drop(after_hit_, n);
  }

  // Of slots that CTAs without a miss have, those that have not been taken again.
  Ring<Run>& after_hit() { return after_hit_; }
  const Ring<Run>& after_hit() const { return after_hit_; }
  // From when on there may be others.
  Time others() const {
    if (!first_.empty()) return first_.front().time;
    if (!together_.empty()) return together_.time;
    return after_stall_.next_time();
  }

 private:
  // Slots that came free at one time.
  struct Together {
    Time time{};
    std::int64_t slots = 0;
    std::vector<std::int64_t> of_sm;
    SmSet sms;

    void reset(std::int64_t count) {
      slots = 0;
      of_sm.assign(static_cast<std::size_t>(count), 0);
      sms.reset(count);
    }
    bool empty() const { return slots == 0; }
    void add(const SlotRun& run) {
      slots += run.count;
      of_sm[run.sm] += run.count;
      sms.insert(run.sm);
    }
    std::uint16_t pick(std::int64_t cta, std::int64_t count) const {
      return static_cast<std::uint16_t>(sms.next(first_sm_to_ask(cta, count)));
    }
    void take(std::uint16_t sm) {
      --slots;
      if (--of_sm[sm] == 0) sms.erase(sm);
    }
  };

  Time next_hit_time() const { return after_hit_.empty() ? kNever : after_hit_.front().time; }
  Time next_run_time() const { return std::min(after_stall_.next_time(), next_hit_time()); }
  // Puts all slots that come free at the next time together, if they are of more than one run.
  void gather() {
    if (together_.empty()) {
      const Time stall = after_stall_.next_time(), hit = next_hit_time();
      const bool several = stall == hit || (stall < hit ? after_stall_.more_at_front()
                                                        : after_hit_.size() > 1 && after_hit_[1].time == hit);
      if (!several) return;
      together_.time = std::min(stall, hit);
    }
    while (!after_stall_.empty() && after_stall_.next_time() == together_.time) {
      const auto& event = after_stall_.front();
      const std::int64_t n = event.apart.count() == 0 ? event.run.count : 1;
      together_.add({n, event.run.sm});
      after_stall_.pop(n);
    }
    while (!after_hit_.empty() && after_hit_.front().time == together_.time) {
      const Run& run = after_hit_.front();
      const std::int64_t n = run.apart.count() == 0 ? run.slots.count : 1;
      together_.add({n, run.slots.sm});
      drop(after_hit_, n);
    }
  }
  bool stall_is_first() const {
    const Time stall = after_stall_.next_time();
    return stall != kNever && stall <= next_hit_time();
  }
  static bool continues(const Run& last, const Run& next) {
    if (last.slots.sm != next.slots.sm) return false;
    const Duration gap = next.time - last.time - last.apart * (last.slots.count - 1);
    return (last.slots.count == 1 || gap == last.apart) && (next.slots.count == 1 || gap == next.apart);
  }
  static void drop(Ring<Run>& runs, std::int64_t n) {
    Run& run = runs.front();
    run.time += run.apart * n;
    run.slots.drop_first(n);
    if (run.slots.count == 0) runs.pop();
  }

  std::int64_t sms_ = 1;
  Ring<Run> first_;
  Together together_;
  RunEvents<SlotRun> after_stall_;
  std::uint64_t stalled_ = 0;
  Ring<Run> after_hit_;
};

}  // namespace uvmsim
