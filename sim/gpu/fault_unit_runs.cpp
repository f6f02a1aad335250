// Runs of CTAs that do the same one after the other, as long as nothing else happens in between.
#include <algorithm>

#include "gpu/fault_unit.h"

namespace uvmsim {

// As `misses`, where it is in neither of the two runs that are looked at first.
const MissRun& FaultUnit::find_misses(KnownMisses& known, std::int64_t cta, std::int64_t step) {
  if (known.version != pages_->version()) {
    known.runs.clear();
    known.asked = 0;
    known.version = pages_->version();
  }
  auto run = std::ranges::upper_bound(known.runs, cta, {}, &KnownMisses::Run::first);
  if (run != known.runs.begin() && (run - 1)->has(cta)) {
    --run;
  } else {
    const std::int64_t limit = run == known.runs.end() ? program_->ctas() : run->first;
    run = known.runs.insert(run, {cta, program_->miss_run(cta, limit, step, *pages_)});
  }
  if (run + 1 != known.runs.end()) known.asked = static_cast<std::size_t>(run - known.runs.begin());
  return run->run;
}

// Of `n` CTAs that start at t, or whose last miss ended then: see StepQueue::Event. At one time the misses that end
// before a CTA starts come first; after it those that end because of what the driver did then.
EventOrder FaultUnit::new_streaks(Time t, std::int64_t n, Follows what) {
  constexpr std::uint64_t kPhase = std::uint64_t{1} << 62;
  const std::uint64_t phase = !ahead_ ? 0 : what == Follows::Start ? 1 : t <= settled_ ? 2 : 0;
  const EventOrder first{t, phase * kPhase + streaks_};
  streaks_ += static_cast<std::uint64_t>(n);
  return first;
}

// The next CTAs, which stall, start at t and after, before `limit` and before what follows from it. Those whose first
// step hits start ahead of time: until their next one they matter to nobody.
void FaultUnit::dispatch_runs(Time t, Time limit) {
  // Whatever happens from t on frees no slot before.
  const Time known = t + pacing_.step + pacing_.cta_start;
  do {
    limit = dispatch_run(limit, known);
    if (next_cta_ == program_->ctas() || free_.empty() || !stalls(next_cta_)) return;
  } while (next_start() < limit || (starts_ahead() && free_.next_time() < known));
}

// The first step of the next CTA, which stalls, hits.
bool FaultUnit::starts_ahead() { return ahead_ && misses(next_cta_, 0).missing == 0; }

// Those that take the next slots of one SM. Returns until when the next ones may follow.
Time FaultUnit::dispatch_run(Time limit, Time known) {
  const MissRun& miss = misses(next_cta_, 0);
  const bool hits = miss.missing == 0;
  FreeSlots::Run starts = free_.front(next_cta_);
  const Time free = starts.time;
  const Duration free_apart = starts.apart;
  set_starts(starts);
  const Time t = starts.time;
  const bool requests = !hits && takes_requests(group_of(starts.slots.sm));
  std::int64_t count = std::min({starts.slots.count, miss.outer - next_cta_, stall_run_.outer - next_cta_});
  if (hits) limit = std::min(limit, t + pacing_.step);  // their next step
  if (requests)
    count = 1;
  else if (hits && ahead_)
    count = events_before(known, free, free_apart, count);
  else
    count = events_before(limit, t, starts.apart, count);
  StepRun run{t, starts.apart, {}, {next_cta_, count, miss.missing, starts.slots.sm, 0}};
  if (hits) run.order = new_streaks(t, count, Follows::Start);
  free_.take(starts.slots.sm, count);
  next_cta_ += count;
  live_ += count;
  next_dispatch_ = t + starts.apart * (count - 1) + pacing_.dispatch;
  reach_step(run, ahead_ ? Follows::Start : Follows::Hit);
  return requests ? t : limit;
}

// The page table has changed: CTAs that started ahead of that have not started.
void FaultUnit::take_back_starts() {
  ahead_version_ = pages_->version();
  run_steps_.take_back(Follows::Start, [this](const StepRun& last) {
    const Time first = last.time - pacing_.step;
    std::int64_t started = 0;
    if (first <= settled_) started = events_before(settled_ + Duration{1}, first, last.apart, last.run.count);
    const std::int64_t count = last.run.count - started;
    if (count == 0) return started;
    next_dispatch_ = first + last.apart * started;
    next_cta_ -= count;
    live_ -= count;
    free_.give_back({next_dispatch_, last.apart, {count, last.run.sm}});
    return started;
  });
}

// Until when the next CTA, which starts at `start`, and those after it touch nothing that is missing.
Time FaultUnit::quiet_until(Time start) {
  if (!ahead_) return start;
  if (!stalls(next_cta_)) return start + pacing_.dispatch * (stall_run_.first - next_cta_);
  const MissRun& miss = misses(next_cta_, 0);
  if (miss.missing != 0) return start;
  return start + std::min(pacing_.step, pacing_.dispatch * (std::min(miss.outer, stall_run_.outer) - next_cta_));
}

// CTAs that have a step to come reach it, those that do before `limit` and before what follows from it.
void FaultUnit::step_runs(Time limit) {
  do {
    limit = step_run(limit);
  } while (run_steps_.next_time() < limit);
}

// The first of them. Returns until when the next ones may follow.
Time FaultUnit::step_run(Time limit) {
  StepRun step = run_steps_.front();
  const Time t = step.time;
  const bool last = step.run.step + 1 == program_->max_steps();
  const Time follows = t + pacing_.step + (last ? pacing_.cta_start + Duration{1} : Duration{0});  // an end comes later
  const MissRun& miss = misses(step.run.first, step.run.step);
  const bool hits = miss.missing == 0;
  const bool requests = !hits && takes_requests(group_of(step.run.sm));
  if (hits) limit = std::min(limit, follows);
  step.run.missing = miss.missing;
  step.run.count = requests ? 1 : std::min(follows > t ? run_steps_.due(limit) : 1, miss.outer - step.run.first);
  run_steps_.pop(step.run.count);
  now_ = t + step.apart * (step.run.count - 1);
  reach_step(step, Follows::Hit);
  return requests ? t : limit;
}

// The CTAs of `step` reach it. Where their group takes requests, it is one CTA.
void FaultUnit::reach_step(StepRun& step, Follows what) {
  const CtaRun& run = step.run;
  if (run.missing == 0) {
    run_resolved(step, what);
    return;
  }
  missed_ = true;
  sms_[run.sm].behind.push({run.first, run.missing, static_cast<std::uint32_t>(run.count), run.step, false, false});
  wait_on(run.sm);
  arm(sms_[run.sm].group, step.time);
}

// As step_resolved, for the CTAs of `step`, which becomes their next one.
void FaultUnit::run_resolved(StepRun& step, Follows what) {
  step.time += what == Follows::Miss ? pacing_.late_step : pacing_.step;
  if (++step.run.step < program_->max_steps()) {
    step.run.missing = 0;
    run_steps_.push(what, step);
    return;
  }
  live_ -= step.run.count;
  last_end_ = std::max(last_end_, step.time + step.apart * (step.run.count - 1));
  free_.add_after_stall(what == Follows::Miss,
                        {step.time + pacing_.cta_start, step.apart, {step.run.count, step.run.sm}});
}

// What waits behind the requests of `sm` comes to the front: CTAs whose pages have all been granted since go on, a
// request or the first CTA that still waits joins the requests. False: there is none.
bool FaultUnit::resolve_waiting(std::uint32_t sm, Time t) {
  Ring<Waiting>& behind = sms_[sm].behind;
  while (!behind.empty()) {
    Waiting& front = behind.front();
    if (front.is_request) {
      const auto agent = static_cast<AgentId>(front.missing);
      const auto warps = static_cast<std::uint16_t>(front.count);
      const PageNumber page{static_cast<std::uint32_t>(front.first)};
      sms_[sm].queue.push({page, agent, 1, 1, warps, warps, front.write, true});
      behind.pop();
      return true;
    }
    const MissRun& now = misses(front.first, front.step);
    if ((now.missing & front.missing) != 0) {
      make_agent(sm);
      return true;
    }
    const std::int64_t count = std::min<std::int64_t>(front.count, now.outer - front.first);
    const CtaRun run{front.first, count, 0, static_cast<std::uint16_t>(sm), front.step};
    front.first += count;
    front.count -= static_cast<std::uint32_t>(count);
    if (front.count == 0) behind.pop();
    StepRun step{t, Duration{0}, new_streaks(t, count, Follows::Miss), run};
    run_resolved(step, Follows::Miss);
  }
  return false;
}

// The first CTA that waits on `sm` queues its requests, and waits for all of them: what it stores is its last step.
void FaultUnit::make_agent(std::uint32_t sm) {
  Waiting& waiting = sms_[sm].behind.front();
  const AgentId id = take_slot(waiting.first, static_cast<std::uint16_t>(sm));
  Agent& agent = agents_[id] = {waiting.step, program_->max_steps(), 0, 0, 0};
  program_->missed(waiting.first, waiting.step, waiting.missing, touches_);
  for (const Touch& touch : touches_) {
    agent.pending += touch.weight;
    sms_[sm].queue.push({touch.page, id, 1, 1, touch.weight, touch.weight, touch.write, true});
  }
  ++waiting.first;
  if (--waiting.count == 0) sms_[sm].behind.pop();
}

}  // namespace uvmsim
