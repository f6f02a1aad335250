// CTAs that miss nothing, dispatched without events; repetitions of their pattern are skipped.
#include <algorithm>

#include "gpu/fault_unit.h"

namespace uvmsim {

void FaultUnit::glide(Time limit) {
  const Duration turn = pacing_.residence + pacing_.cta_start;
  const std::int64_t slots = std::min(pacing_.slots, program_->ctas()), worth_marking = 4 * slots;
  mark_.rounds = mark_.ctas = 0;
  mark_.next_mark = 1;
  while (next_cta_ < stall_run_.first) {
    const Time free = free_after_hit_.empty() ? kNever : free_after_hit_.front().time;
    if (free_.empty() || free <= next_dispatch_) {
      if (free >= limit) return;
      now_ = free;
      free_slots({1, free_after_hit_.front().id}, free);
      free_after_hit_.pop();
      continue;
    }
    const Time t = next_dispatch_;
    if (t >= limit) return;
    now_ = t;
    const std::uint16_t group = free_.take();
    next_dispatch_ = t + pacing_.dispatch;
    ++next_cta_;
    last_end_ = std::max(last_end_, t + pacing_.residence);
    free_after_hit_.push({t + turn, group});
    if (++mark_.ctas == slots && stall_run_.first - next_cta_ > worth_marking) {  // a round of the slots is complete
      mark_.ctas = 0;
      if (mark_.rounds > 0 && repeats_since_mark()) jump(limit);
      if (++mark_.rounds == mark_.next_mark) mark();
    }
  }
}

// Remembers the state of the glide.
void FaultUnit::mark() {
  mark_.next_mark *= 2;
  mark_.at = now_;
  mark_.next_cta = next_cta_;
  mark_.next_dispatch = next_dispatch_ - now_;
  mark_.free = free_;
  mark_.running.clear();
  for (std::size_t i = 0; i < free_after_hit_.size(); ++i)
    mark_.running.emplace_back(free_after_hit_[i].time - now_, free_after_hit_[i].id);
}

// Whether the state is the marked one, but for a shift in time.
bool FaultUnit::repeats_since_mark() const {
  if (next_dispatch_ - now_ != mark_.next_dispatch || free_after_hit_.size() != mark_.running.size()) return false;
  for (std::size_t i = 0; i < mark_.running.size(); ++i) {
    const auto& [time_left, group] = mark_.running[i];
    if (free_after_hit_[i].time - now_ != time_left || free_after_hit_[i].id != group) return false;
  }
  return free_.same_as(mark_.free);
}

// The CTAs since the mark will come again and again: skips whole repetitions that end before `limit`.
void FaultUnit::jump(Time limit) {
  const Duration period = now_ - mark_.at;
  const std::int64_t ctas = next_cta_ - mark_.next_cta;
  std::int64_t times = (stall_run_.first - next_cta_) / ctas - 1;
  if (period.count() > 0) times = std::min(times, (limit - free_after_hit_.back().time) / period - 1);
  if (times <= 0) return;
  const Duration shift = period * times;
  for (std::size_t i = 0; i < free_after_hit_.size(); ++i) free_after_hit_[i].time += shift;
  next_dispatch_ += shift;
  next_cta_ += ctas * times;
  now_ += shift;
  mark_.at = now_;
  mark_.next_cta = next_cta_;
  last_end_ = std::max(last_end_, free_after_hit_.back().time - pacing_.cta_start);
}

}  // namespace uvmsim
