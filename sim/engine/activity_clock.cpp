#include "engine/activity_clock.h"

#include <algorithm>

namespace uvmsim {

ActivityClock::Cause ActivityClock::cause() const {
  if (flags_[Kernel] > 0) {
    if (flags_[Batch] == 0) return Compute;
    if (flags_[Cpu] > 0) return FaultCpu;
    if (flags_[CopyOut] > 0) return EvictionCause;
    if (flags_[CopyIn] > 0) return CopyInCause;
    return FaultCpu;
  }
  if (flags_[Transfer] > 0) return TransferCause;
  return flags_[Collective] > 0 ? CollectiveCause : Idle;
}

void ActivityClock::account(Time until) {
  if (batch_at_ <= until) {
    const Time at = std::max(batch_at_, last_);
    spent_[cause()] += at - last_;
    last_ = at;
    batch_at_ = kNever;
    ++flags_[Batch];
    ++flags_[Cpu];
  }
  if (until <= last_) return;
  spent_[cause()] += until - last_;
  last_ = until;
}

void ActivityClock::change(Flag flag, int by, Time at) {
  account(at);
  flags_[flag] += by;
  if (by < 0) return;
  if (flag == CopyIn) settled_[CopyInCause] = spent_[CopyInCause];
  if (flag == CopyOut) settled_[EvictionCause] = spent_[EvictionCause];
  if (flag == Kernel) settled_ = spent_;
}

void ActivityClock::batch_begins(Time at) { batch_at_ = at; }

void ActivityClock::batch_ends(Time at) {
  account(at);
  if (batch_at_ == kNever) {
    --flags_[Batch];
    --flags_[Cpu];
  }
  batch_at_ = kNever;
}

void ActivityClock::copy_waited(Time start, Duration excess, Flag direction, Time now) {
  account(now);
  const Cause cause = direction == CopyOut ? EvictionCause : CopyInCause;
  const Duration moved = std::clamp(std::min(excess, now - start), Duration{}, spent_[cause] - settled_[cause]);
  spent_[cause] -= moved;
  spent_[LinkWait] += moved;
}

TimeSplit ActivityClock::split(Time at) {
  account(at);
  settled_ = spent_;
  return {seconds(spent_[FaultCpu]),        seconds(spent_[EvictionCause]), seconds(spent_[CopyInCause]),
          seconds(spent_[LinkWait]),        seconds(spent_[Compute]),       seconds(spent_[TransferCause]),
          seconds(spent_[CollectiveCause]), seconds(spent_[Idle])};
}

KernelTime ActivityClock::kernel_time(Time at) {
  account(at);
  return {spent_[FaultCpu], spent_[EvictionCause], spent_[CopyInCause], spent_[LinkWait], spent_[Compute]};
}

Duration ActivityClock::total(Time at) {
  account(at);
  Duration sum{};
  for (const Duration d : spent_) sum += d;
  return sum;
}

}  // namespace uvmsim
