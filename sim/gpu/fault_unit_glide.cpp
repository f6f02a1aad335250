// CTAs that miss nothing, dispatched without events; repetitions of their pattern are skipped.
#include <algorithm>

#include "gpu/fault_unit.h"

namespace uvmsim {
namespace {

FreeSlots::Run from(Time start, FreeSlots::Run run) {
  run.time = Time{run.time - start};
  return run;
}

}  // namespace

void FaultUnit::glide(Time limit) {
  const Duration turn = pacing_.residence + pacing_.cta_start;
  const std::int64_t slots = std::min(pacing_.slots, program_->ctas()), worth_marking = 4 * slots;
  mark_.rounds = mark_.ctas = 0;
  mark_.next_mark = 1;
  while (next_cta_ < stall_run_.first && next_start() < limit) {
    FreeSlots::Run starts = free_.front(next_cta_);
    set_starts(starts);
    const std::int64_t most = std::min({starts.slots.count, stall_run_.first - next_cta_, slots - mark_.ctas});
    const std::int64_t count = events_before(limit, starts.time, starts.apart, most);
    now_ = last_event_ = starts.time + starts.apart * (count - 1);
    free_.take(starts.slots.sm, count);
    next_dispatch_ = now_ + pacing_.dispatch;
    next_cta_ += count;
    last_end_ = std::max(last_end_, now_ + pacing_.residence);
    free_.add_after_hit({starts.time + turn, starts.apart, {count, starts.slots.sm}});
    mark_.ctas += count;
    if (mark_.ctas < slots) continue;
    mark_.ctas = 0;  // a round of the slots is complete
    if (stall_run_.first - next_cta_ <= worth_marking) continue;
    if (mark_.rounds > 0 && repeats_since_mark()) jump(limit);
    if (++mark_.rounds == mark_.next_mark) mark();
  }
}

// Remembers the state of the glide.
void FaultUnit::mark() {
  mark_.next_mark *= 2;
  mark_.at = now_;
  mark_.next_cta = next_cta_;
  mark_.next_dispatch = next_dispatch_ - now_;
  mark_.running.clear();
  for (std::size_t i = 0; i < free_.after_hit().size(); ++i) mark_.running.push_back(from(now_, free_.after_hit()[i]));
}

// Whether the state is the marked one, but for a shift in time, and no slots come free together: which of those a CTA
// takes does not repeat.
bool FaultUnit::repeats_since_mark() const {
  const Ring<FreeSlots::Run>& running = free_.after_hit();
  if (next_dispatch_ - now_ != mark_.next_dispatch || running.size() != mark_.running.size()) return false;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (from(now_, running[i]) != mark_.running[i] || (i > 0 && running[i].time == running[i - 1].time)) return false;
  return true;
}

// The CTAs since the mark will come again and again: skips whole repetitions that end before `limit`, and before slots
// of other CTAs are free.
void FaultUnit::jump(Time limit) {
  Ring<FreeSlots::Run>& running = free_.after_hit();
  const auto last_end = [&] { return running.back().time + running.back().apart * (running.back().slots.count - 1); };
  const Duration period = now_ - mark_.at;
  const std::int64_t ctas = next_cta_ - mark_.next_cta;
  std::int64_t times = (stall_run_.first - next_cta_) / ctas - 1;
  if (period.count() > 0) times = std::min(times, (std::min(limit, free_.others()) - last_end()) / period - 1);
  if (times <= 0) return;
  const Duration shift = period * times;
  for (std::size_t i = 0; i < running.size(); ++i) running[i].time += shift;
  next_dispatch_ += shift;
  next_cta_ += ctas * times;
  now_ = last_event_ += shift;
  mark_.at = now_;
  mark_.next_cta = next_cta_;
  last_end_ = std::max(last_end_, last_end() - pacing_.cta_start);
}

}  // namespace uvmsim
