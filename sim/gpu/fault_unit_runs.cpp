// Runs of CTAs that do the same one after the other, as long as nothing else happens in between.
#include <algorithm>

#include "gpu/fault_unit.h"

namespace uvmsim {

// What `cta` misses now in a step, and up to where others miss the same.
const MissRun& FaultUnit::misses(std::int64_t cta, std::int64_t step) {
  KnownMisses& known = known_misses_[static_cast<std::size_t>(step)];
  if (known.version != pages_->version()) {
    known.runs.clear();
    known.version = pages_->version();
  }
  auto after = known.runs.end();
  while (after != known.runs.begin() && (after - 1)->first > cta) --after;
  if (after != known.runs.begin() && cta < (after - 1)->run.outer) return (after - 1)->run;
  const std::int64_t limit = after == known.runs.end() ? program_->ctas() : after->first;
  return known.runs.insert(after, {cta, program_->miss_run(cta, limit, step, *pages_)})->run;
}

// The next CTAs, which stall, start at t and after, before `limit` and before what follows from it.
void FaultUnit::dispatch_runs(Time t, Time limit) {
  do {
    limit = dispatch_run(t, limit);
    t = next_dispatch_;
  } while (t < limit && !free_.empty() && next_cta_ < program_->ctas() && stalls(next_cta_));
}

// Those that take the slots that have been free for longest, of one group. Returns until when the next ones may follow.
Time FaultUnit::dispatch_run(Time t, Time limit) {
  const MissRun& miss = misses(next_cta_, 0);
  const bool hits = miss.missing == 0;
  const SlotRun& slots = free_.front();
  const bool requests = !hits && takes_requests(groups_[slots.group]);
  std::int64_t count = 1;
  if (!requests) {
    if (hits) limit = std::min(limit, t + pacing_.step);  // their next step
    count = events_before(limit, t, pacing_.dispatch,
                          std::min({slots.count, miss.outer - next_cta_, stall_run_.outer - next_cta_}));
  }
  CtaRun run{next_cta_, count, miss.missing, 0, free_.take(count), 0};
  if (hits) run.streak = new_streaks(count);
  next_cta_ += count;
  live_ += count;
  next_dispatch_ = t + pacing_.dispatch * count;
  reach_step(run, t, pacing_.dispatch);
  return requests ? t : limit;
}

// CTAs that have a step to come reach it, those that do before `limit` and before what follows from it.
void FaultUnit::step_runs(Time limit) {
  do {
    limit = step_run(limit);
  } while (!run_steps_.empty() && run_steps_.front().time < limit);
}

// The first of them. Returns until when the next ones may follow.
Time FaultUnit::step_run(Time limit) {
  const Time t = run_steps_.front().time;
  const Duration apart = run_steps_.front().apart;
  CtaRun run = run_steps_.front().run;
  const bool last = run.step + 1 == program_->max_steps();
  const Time follows = t + pacing_.step + (last ? pacing_.cta_start + Duration{1} : Duration{0});  // an end comes later
  const std::int64_t due = follows > t ? run_steps_.due(std::min(limit, follows)) : 1;
  const MissRun& miss = misses(run.first, run.step);
  const bool one = miss.missing != 0 && takes_requests(groups_[run.group]);
  run.count = one ? 1 : std::min(due, miss.outer - run.first);
  run.missing = miss.missing;
  run_steps_.pop(run.count);
  reach_step(run, t, apart);
  return one ? t : std::min(limit, follows);
}

// The CTAs of `run` reach its step at t, t + apart, ... Where their group takes requests, it is one CTA.
void FaultUnit::reach_step(const CtaRun& run, Time t, Duration apart) {
  now_ = t + apart * (run.count - 1);
  if (run.missing == 0) {
    run_resolved(run, t, apart, false);
    return;
  }
  missed_ = true;
  Group& g = groups_[run.group];
  if (g.waiting.empty() || !g.waiting.back().join(run)) g.waiting.push(run);
  arm(run.group, t);
}

// As step_resolved, at t, t + apart, ...
void FaultUnit::run_resolved(CtaRun run, Time t, Duration apart, bool late) {
  const Time next = t + (late ? pacing_.late_step : pacing_.step);
  if (late) run.streak = new_streaks(run.count);
  if (++run.step < program_->max_steps()) {
    run.missing = 0;
    run_steps_.push(late, {next, apart, run.streak, run});
    return;
  }
  live_ -= run.count;
  last_end_ = std::max(last_end_, next + apart * (run.count - 1));
  push_end(late, next + pacing_.cta_start, apart, {run.count, run.group});
}

// The CTAs in front whose pages have all been granted since go on; the first one that still waits becomes an agent.
void FaultUnit::resolve_waiting(Group& group, Time t) {
  while (!group.waiting.empty()) {
    CtaRun& waiting = group.waiting.front();
    const MissRun& now = misses(waiting.first, waiting.step);
    if ((now.missing & waiting.missing) != 0) {
      make_agent(group);
      return;
    }
    CtaRun run = waiting;
    run.count = std::min(run.count, now.outer - run.first);
    waiting.drop_first(run.count);
    if (waiting.count == 0) group.waiting.pop();
    run_resolved(run, t, Duration{0}, true);
  }
}

// The first CTA that waits in `group` queues its requests.
void FaultUnit::make_agent(Group& group) {
  CtaRun& run = group.waiting.front();
  const AgentId id = take_slot(run.first, run.group);
  Agent& agent = agents_[id] = {run.step, program_->max_steps(), 0, 0, kNone};
  program_->step(run.first, 0, run.step, touches_);
  for (std::size_t i = 0; i < touches_.size(); ++i) {
    if ((run.missing >> i & 1) == 0) continue;
    const Touch& touch = touches_[i];
    group.queue.push({touch.page, touch.weight, touch.write, false, id, kNone});
    ++agent.pending;
  }
  run.drop_first(1);
  if (run.count == 0) group.waiting.pop();
}

}  // namespace uvmsim
