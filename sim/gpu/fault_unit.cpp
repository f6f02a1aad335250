#include "gpu/fault_unit.h"

#include <algorithm>

namespace uvmsim {

FaultUnit::FaultUnit(const GpuSpec& gpu)
    : hw_(gpu.fault), gpu_(gpu), groups_(static_cast<std::size_t>(hw_.utlb_groups)) {}

// --- the kernel

void FaultUnit::launch(const KernelProgram& program, const PageTable& pages, Duration in_core, Time at) {
  program_ = &program;
  pages_ = &pages;
  pacing_ = Pacing(gpu_, program, in_core);
  launched_ = now_ = last_end_ = at;
  whole_ = program.all_granted(pages);
  next_cta_ = whole_ ? program.ctas() : 0;
  live_ = 0;
  missed_ = false;
  // Every warp of the kernel before has ended: what is left waits for nobody.
  for (Group& g : groups_) {
    g.replayed.clear();
    g.queue.clear();
    g.outstanding.clear();
    g.pages.clear();
    g.used = 0;
    g.stalled_at = 0;
    g.armed = g.asking = false;
  }
  drains_.clear();
  asking_.clear();
  waiters_.clear();
  free_waiter_ = kNone;
  entry_pending_ = false;
  if (!whole_) start_walk();
}

void FaultUnit::start_walk() {
  whole_ = false;
  next_cta_ = 0;
  next_dispatch_ = launched_;
  stall_version_ = 0;
  looks_once_ = program_->looks_once();
  const auto slots = static_cast<std::size_t>(std::min(pacing_.slots, program_->ctas()));
  slots_.assign(slots, {});
  agents_.assign(slots * static_cast<std::size_t>(program_->agents()), {});
  steps_.clear();
  free_after_stall_.clear();
  free_after_hit_.clear();
  free_.reset(static_cast<std::uint32_t>(gpu_.sms), static_cast<std::uint32_t>(slots));
  while (group_of_slot_.size() < slots)
    group_of_slot_.push_back(
        static_cast<std::uint16_t>(free_.sm_of(static_cast<std::uint32_t>(group_of_slot_.size())) % groups_.size()));
}

bool FaultUnit::ended() const { return program_ == nullptr || (next_cta_ == program_->ctas() && live_ == 0); }

Time FaultUnit::end() const {
  const Time in_core = launched_ + pacing_.duration;
  return missed_ ? std::max(in_core, last_end_) : in_core;
}

void FaultUnit::before_unmap(Time at) {
  if (whole_ && program_ != nullptr && at < end()) start_walk();
  advance(at);
  steps_.roll_back(at, pacing_.step, [this](AgentId agent, std::int64_t steps) { agents_[agent].step -= steps; });
}

// --- events

void FaultUnit::advance(Time until) { run(until, false); }
void FaultUnit::advance_to_fault(Time limit) { run(limit, true); }

FaultUnit::NextEvent FaultUnit::next_event() const {
  NextEvent next;
  const auto earliest = [&next](Time time, Kind kind) {
    if (time < next.time) next = {time, kind};
  };
  if (!drains_.empty()) earliest(drains_.front().time, Kind::Drain);
  if (entry_pending_) earliest(entry_time_, Kind::FaultEntry);
  if (!first_steps_.empty()) earliest(first_steps_.top().time, Kind::FirstStep);
  if (!steps_.empty()) earliest(steps_.front().time, Kind::Step);
  if (!free_after_stall_.empty()) earliest(free_after_stall_.front().time, Kind::FreeAfterStall);
  return next;
}

void FaultUnit::run(Time until, bool stop_at_entry) {
  const std::int64_t written = entries_written_;
  while (program_ != nullptr && !whole_ && !(stop_at_entry && (entries_written_ != written || ended()))) {
    NextEvent next = next_event();
    // CTAs that miss nothing, until something else happens.
    if (next_cta_ < stall_run_.first && stall_version_ == pages_->version())
      glide(std::min(next.time, until + Duration{1}));
    if (!free_after_hit_.empty() && free_after_hit_.front().time < next.time)
      next = {free_after_hit_.front().time, Kind::FreeAfterHit};
    if (!free_.empty() && next_cta_ < program_->ctas() && next_dispatch_ < next.time)
      next = {next_dispatch_, Kind::Dispatch};
    if (next.kind == Kind::None || next.time > until) break;
    now_ = next.time;
    handle(next);
  }
  if (!stop_at_entry) now_ = std::max(now_, until);
}

void FaultUnit::handle(const NextEvent& event) {
  const Time t = event.time;
  switch (event.kind) {
    case Kind::Drain: {
      const std::uint16_t group = drains_.front().id;
      drains_.pop();
      groups_[group].armed = false;
      drain(group, t);
      break;
    }
    case Kind::FaultEntry:
      write_entry(t);
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
    case Kind::FreeAfterStall:
      free_slot(free_after_stall_.front().id, t);
      free_after_stall_.pop();
      break;
    case Kind::FreeAfterHit:
      free_slot(free_after_hit_.front().id, t);
      free_after_hit_.pop();
      break;
    case Kind::Dispatch:
      dispatch(t);
      break;
    case Kind::None:
      break;
  }
}

// --- CTAs

void FaultUnit::free_slot(std::uint32_t slot, Time t) {
  if (free_.empty()) next_dispatch_ = std::max(next_dispatch_, t);
  free_.add(slot);
}

void FaultUnit::dispatch(Time t) {
  next_dispatch_ = t + pacing_.dispatch;
  start_cta(free_.take(), t);
}

bool FaultUnit::stalls(std::int64_t cta) {
  if (!looks_once_) return true;
  if (stall_version_ != pages_->version() || cta >= stall_run_.outer) {
    stall_run_ = program_->next_stall(cta, *pages_);
    stall_version_ = pages_->version();
  }
  return cta >= stall_run_.first;
}

void FaultUnit::start_cta(std::uint32_t slot, Time t) {
  const std::int64_t cta = next_cta_++;
  if (!stalls(cta)) {
    last_end_ = std::max(last_end_, t + pacing_.residence);
    free_after_hit_.push({t + pacing_.residence + pacing_.cta_start, slot});
    return;
  }
  ++live_;
  const int agents = program_->agents();
  slots_[slot] = {cta, agents};
  const AgentId first = slot * static_cast<AgentId>(agents);
  for (int a = 0; a < agents; ++a) agents_[first + static_cast<AgentId>(a)] = {0, program_->steps(cta, a), 0, 0};
  step_agent(first, t);
  for (int a = 1; a < agents; ++a)
    first_steps_.push({t + hw_.warp_stagger * a, first_step_order_++, first + static_cast<AgentId>(a)});
}

void FaultUnit::step_agent(AgentId id, Time t) {
  Agent& agent = agents_[id];
  const std::uint32_t slot = slot_of(id);
  const int index = index_of(id, slot);
  if (agent.step == 0) agent.streak = streaks_++;
  program_->step(slots_[slot].cta, index, agent.step, touches_);
  const std::uint16_t group = group_of_slot_[slot];
  for (const Touch& touch : touches_) {
    if (pages_->granted(touch.page, touch.write)) continue;
    ++agent.pending;
    groups_[group].queue.push({touch.page, touch.weight, touch.write, false, id, kNone});
  }
  if (agent.pending != 0) {
    missed_ = true;
    arm(group, t);
    return;
  }
  step_resolved(id, t, false);
}

// The next step follows, `late` where this one missed; after the last one the CTA may have ended.
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
  if (--slots_[slot].agents_left != 0) return;
  --live_;
  last_end_ = std::max(last_end_, next);
  free_after_stall_.push(late, next + pacing_.cta_start, slot);
}

// How many steps from the agent's next one on hit if no page goes. The last one is made in any case.
std::int64_t FaultUnit::hits_ahead(const Agent& agent, std::int64_t cta, int index) const {
  if (agent.step + 1 == agent.steps) return 0;
  return std::min(program_->next_miss(cta, index, agent.step, *pages_), agent.steps - 1) - agent.step;
}

void FaultUnit::resolve(AgentId id, Time t) {
  Agent& agent = agents_[id];
  if (--agent.pending != 0) return;
  agent.streak = streaks_++;
  step_resolved(id, t, true);
}

}  // namespace uvmsim
