#include "gpu/fault_unit.h"

#include <algorithm>

namespace uvmsim {

FaultUnit::FaultUnit(const GpuSpec& gpu)
    : hw_(gpu.fault),
      gpu_(gpu),
      groups_(static_cast<std::size_t>(hw_.utlb_groups)),
      sms_(static_cast<std::size_t>(gpu.sms)) {
  const auto groups = static_cast<std::uint32_t>(groups_.size());
  for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) {
    sms_[sm].group = sm % groups;
    sms_[sm].utlb = utlb_of(hw_, sm);
  }
}

// --- the kernel

void FaultUnit::launch(const KernelProgram& program, const PageTable& pages, Duration in_core, Time at) {
  program_ = &program;
  pages_ = &pages;
  pacing_ = Pacing(gpu_, program, in_core);
  launched_ = now_ = last_end_ = last_event_ = at;
  ended_at_ = kNever;
  replays_ = 0;
  scattered_ = false;
  whole_ = program.all_granted(pages);
  next_cta_ = whole_ ? program.ctas() : 0;
  live_ = 0;
  missed_ = false;
  // Every warp of the kernel before has ended: what is left waits for nobody.
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    g.waiting.reset(gpu_.sms);
    g.outstanding.clear();
    g.turn = i;
    g.used = g.repeat = g.in_turn = 0;
    g.asks_again = Time{};
    g.armed = g.asking = g.replayed = g.refused = false;
  }
  for (Sm& sm : sms_) {
    sm.queue.clear();
    sm.behind.clear();
    sm.held.clear();
    sm.refused = 0;
    sm.replays.clear();
  }
  drains_.clear();
  asking_.clear();
  entry_pending_ = false;
  settled_ = at - Duration{1};
  if (!whole_) start_walk();
}

void FaultUnit::start_walk() {
  whole_ = false;
  next_cta_ = 0;
  next_dispatch_ = launched_;
  stall_version_ = 0;
  known_misses_.assign(static_cast<std::size_t>(program_->in_runs() ? program_->max_steps() : 0), {});
  looks_once_ = program_->looks_once();
  in_runs_ = program_->in_runs();
  ahead_ = in_runs_ && program_->max_steps() > 1 && pacing_.dispatch.count() > 0 && pacing_.step.count() > 0;
  slots_.clear();
  spare_slots_.clear();
  agents_.clear();
  steps_.clear();
  run_steps_.clear();
  free_.reset(gpu_.sms, std::min(pacing_.slots, program_->ctas()), launched_);
}

bool FaultUnit::ended() const { return program_ == nullptr || (next_cta_ == program_->ctas() && live_ == 0); }

Time FaultUnit::end() const {
  const Time in_core = launched_ + pacing_.duration;
  return missed_ ? std::max(in_core, last_end_) : in_core;
}

Time FaultUnit::quiet_since() const {
  if (whole_ || next_event().kind != Kind::None) return kNever;
  if (next_cta_ < program_->ctas() && next_start() != kNever) return kNever;
  // CTAs that start in a row do so at once, the last one of them up to then.
  return std::max({last_event_, last_end_, next_entry_, next_dispatch_});
}

void FaultUnit::resume(const Ring<BufferedFault>& buffer, Time next_entry) {
  buffer_ = buffer;
  next_entry_ = next_entry;
}

void FaultUnit::before_unmap(Time at) {
  if (whole_ && program_ != nullptr && at < end()) start_walk();
  advance(at);
  steps_.roll_back(at, pacing_.step, [this](AgentId agent, std::int64_t steps) { agents_[agent].step -= steps; });
}

// --- events

void FaultUnit::advance(Time until) { run(until, false); }
void FaultUnit::advance_to_fault(Time limit) { run(limit, true); }

// But for CTAs that start.
FaultUnit::NextEvent FaultUnit::next_event() const {
  NextEvent next;
  next.consider(next_request(), Kind::Request);
  if (!first_steps_.empty()) next.consider(first_steps_.top().time, Kind::FirstStep);
  if (!steps_.empty()) next.consider(steps_.front().time, Kind::Step);
  next.consider(run_steps_.next_time(), Kind::RunStep);
  return next;
}

void FaultUnit::run(Time until, bool stop_at_entry) {
  const std::int64_t written = entries_written_;
  until_ = until;
  if (ahead_ && ahead_version_ != pages_->version()) take_back_starts();
  while (program_ != nullptr && !whole_ && !(stop_at_entry && (entries_written_ != written || ended()))) {
    NextEvent next = next_event();
    const Time others = std::min(next.time, until + Duration{1});
    // CTAs that miss nothing, until something else happens.
    if (next_cta_ < stall_run_.first && stall_version_ == pages_->version()) glide(others);
    note_end();
    const Time start = next_cta_ < program_->ctas() ? next_start() : kNever;
    if (start < next.time)
      next = {start, Kind::Dispatch, others};
    else if (start < kNever && next.kind == Kind::RunStep)
      next.limit = std::min(next.limit, quiet_until(start));
    else if (next.kind == Kind::Request)
      next.limit = stop_at_entry ? next.time : std::min(next.limit, start);
    if (next.kind == Kind::None || next.time > until) break;
    next.limit = std::min(next.limit, until + Duration{1});
    now_ = next.time;
    handle(next);
    last_event_ = now_;
    note_end();
  }
  if (!stop_at_entry) now_ = std::max(now_, until);
  settled_ = std::max(settled_, stop_at_entry ? now_ - Duration{1} : now_);
}

void FaultUnit::handle(const NextEvent& event) {
  const Time t = event.time;
  switch (event.kind) {
    case Kind::Request:
      handle_requests(event.limit);
      break;
    case Kind::FirstStep: {
      const AgentId agent = first_steps_.top().agent;
      first_steps_.pop();
      step_agent(agent, t);
      break;
    }
    case Kind::Step:
      do {  // all of this time, unless something of a kind that goes first comes up
        const AgentId agent = steps_.front().agent;
        steps_.pop();
        step_agent(agent, t);
      } while (!steps_.empty() && steps_.front().time == t && drains_.empty());
      break;
    case Kind::RunStep:
      step_runs(event.limit);
      break;
    case Kind::Dispatch:
      dispatch(t, event.limit);
      break;
    case Kind::None:
      break;
  }
}

// --- CTAs

// From when CTAs can start in `next`, the front of `free_`, to when they do, if nothing comes in between. In place: a
// copy of what has just been put together member by member would wait for those writes.
void FaultUnit::set_starts(FreeSlots::Run& next) const {
  if (next.apart <= pacing_.dispatch)
    next.apart = pacing_.dispatch;
  else if (next.time < next_dispatch_)
    next.slots.count = 1;
  next.time = std::max(next.time, next_dispatch_);
}

void FaultUnit::dispatch(Time t, Time limit) {
  const bool stalled = stalls(next_cta_);
  if (stalled && in_runs_) {
    dispatch_runs(t, limit);
    return;
  }
  next_dispatch_ = t + pacing_.dispatch;
  const std::int64_t cta = next_cta_++;
  const std::uint16_t sm = free_.front(cta).slots.sm;
  free_.take(sm, 1);
  if (stalled) {
    start_cta(cta, sm, t);
  } else {
    last_end_ = std::max(last_end_, t + pacing_.residence);
    free_.add_after_hit({t + pacing_.residence + pacing_.cta_start, Duration{0}, {1, sm}});
  }
}

bool FaultUnit::stalls(std::int64_t cta) {
  if (!looks_once_) return true;
  if (stall_version_ != pages_->version() || cta >= stall_run_.outer) {
    stall_run_ = program_->next_stall(cta, *pages_);
    stall_version_ = pages_->version();
  }
  return cta >= stall_run_.first;
}

std::uint32_t FaultUnit::take_slot(std::int64_t cta, std::uint16_t sm) {
  auto slot = static_cast<std::uint32_t>(slots_.size());
  if (spare_slots_.empty()) {
    slots_.emplace_back();
    agents_.resize(agents_.size() + static_cast<std::size_t>(program_->agents()));
  } else {
    slot = spare_slots_.back();
    spare_slots_.pop_back();
  }
  slots_[slot] = {cta, program_->agents(), sm};
  return slot;
}

void FaultUnit::start_cta(std::int64_t cta, std::uint16_t sm, Time t) {
  ++live_;
  const int agents = program_->agents();
  const AgentId first = take_slot(cta, sm) * static_cast<AgentId>(agents);
  for (int a = 0; a < agents; ++a) agents_[first + static_cast<AgentId>(a)] = {0, program_->steps(cta, a), 0, 0, 0};
  step_agent(first, t);
  for (int a = 1; a < agents; ++a)
    first_steps_.push({t + hw_.warp_stagger * a, first_step_order_++, first + static_cast<AgentId>(a)});
}

bool scatters(const KernelProgram& program, const std::vector<Touch>& touches) {
  if (program.agents() == 1) return false;
  std::uint32_t pages = 0;
  for (const Touch& touch : touches) pages += touch.pages;
  return pages > kTurnPages;
}

void FaultUnit::step_agent(AgentId id, Time t) {
  Agent& agent = agents_[id];
  const std::uint32_t slot = slot_of(id);
  const int index = index_of(id, slot);
  if (agent.step == 0) agent.streak = streaks_++;
  program_->step(slots_[slot].cta, index, agent.step, touches_);
  const std::uint16_t sm = slots_[slot].sm;
  const std::uint32_t before = agent.stores;
  for (const Touch& touch : touches_) enqueue_missing(sm, id, touch, !touch.write || before >= kStoresAhead);
  scattered_ = scattered_ || scatters(*program_, touches_);
  if (agent.pending + agent.stores != before) {
    missed_ = true;
    arm(sms_[sm].group, t);
  }
  if (agent.pending == 0) step_resolved(id, t, false);
}

// The next step follows, `late` where a load of this one missed; after the last one the CTA may have ended.
void FaultUnit::step_resolved(AgentId id, Time t, bool late) {
  Agent& agent = agents_[id];
  const Time next = t + (late ? pacing_.late_step : pacing_.step);
  const std::uint32_t slot = slot_of(id);
  if (++agent.step < agent.steps) {
    const std::int64_t skipped = hits_ahead(agent, slots_[slot].cta, index_of(id, slot));
    agent.step += skipped;
    steps_.push(late, {next + pacing_.step * skipped, agent.streak, id, skipped});
    return;
  }
  if (agent.stores == 0) agent_ended(id, next, late);
}

void FaultUnit::agent_ended(AgentId id, Time end, bool late) {
  const std::uint32_t slot = slot_of(id);
  if (--slots_[slot].agents_left != 0) return;
  --live_;
  last_end_ = std::max(last_end_, end);
  free_.add_after_stall(late, {end + pacing_.cta_start, Duration{0}, {1, slots_[slot].sm}});
  spare_slots_.push_back(slot);
}

// How many steps from the agent's next one on hit if no page goes. The last one is made in any case.
std::int64_t FaultUnit::hits_ahead(const Agent& agent, std::int64_t cta, int index) const {
  if (agent.step + 1 == agent.steps) return 0;
  return std::min(program_->next_miss(cta, index, agent.step, *pages_), agent.steps - 1) - agent.step;
}

// What `warps` warps x pages of an agent asked for has come.
void FaultUnit::resolve(AgentId id, std::uint32_t warps, bool waits, Time t) {
  Agent& agent = agents_[id];
  if (!waits) {
    agent.stores -= warps;
    if (agent.stores == 0 && agent.step == agent.steps) agent_ended(id, t + pacing_.late_step, true);
    return;
  }
  agent.pending -= warps;
  if (agent.pending != 0) return;
  if (!in_runs_) {
    agent.streak = streaks_++;
    step_resolved(id, t, true);
    return;
  }
  const CtaRun one{slots_[id].cta, 1, 0, slots_[id].sm, static_cast<std::uint16_t>(agent.step)};
  StepRun step{t, Duration{0}, new_streaks(t, 1, Follows::Miss), one};
  run_resolved(step, Follows::Miss);
  spare_slots_.push_back(id);
}

}  // namespace uvmsim
