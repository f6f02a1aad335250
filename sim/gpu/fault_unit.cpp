#include "gpu/fault_unit.h"

#include <algorithm>

#include "base/check.h"

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

Time FaultUnit::end() const { return std::max(launched_ + pacing_.duration, last_end_); }

void FaultUnit::before_unmap(Time at) {
  if (whole_ && program_ != nullptr && at < end()) start_walk();
  advance(at);
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
  earliest(steps_.time(), Kind::Step);
  earliest(free_after_stall_.time(), Kind::FreeAfterStall);
  return next;
}

void FaultUnit::run(Time until, bool stop_at_entry) {
  const std::int64_t written = entries_written_;
  while (program_ != nullptr && !whole_ && !(stop_at_entry && (entries_written_ != written || ended()))) {
    NextEvent next = next_event();
    // CTAs that miss nothing, until something else happens.
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
        step_agent(steps_.pop(), t);
      } while (steps_.time() == t && drains_.empty());
      break;
    case Kind::FreeAfterStall:
      free_slot(free_after_stall_.pop(), t);
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
  if (!program_->looks_once()) return true;
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
  for (int a = 0; a < agents; ++a) agents_[first + static_cast<AgentId>(a)] = {0, program_->steps(cta, a), 0};
  step_agent(first, t);
  for (int a = 1; a < agents; ++a)
    first_steps_.push({t + hw_.warp_stagger * a, first_step_order_++, first + static_cast<AgentId>(a)});
}

void FaultUnit::step_agent(AgentId id, Time t) {
  Agent& agent = agents_[id];
  const std::uint32_t slot = slot_of(id);
  const int index = static_cast<int>(id - slot * static_cast<AgentId>(program_->agents()));
  program_->step(slots_[slot].cta, index, agent.step, touches_);
  const std::uint16_t group = group_of_slot_[slot];
  for (const Touch& touch : touches_) {
    if (pages_->granted(touch.page, touch.write)) continue;
    ++agent.pending;
    groups_[group].queue.push({touch.page, touch.weight, touch.write, false, id, kNone});
  }
  if (agent.pending != 0) {
    arm(group, t);
    return;
  }
  step_resolved(id, 0, t);
}

// The next step follows `step` and the agent's place in the spread later; after the last one the CTA may have ended.
void FaultUnit::step_resolved(AgentId id, std::size_t level, Time t) {
  Agent& agent = agents_[id];
  const Time next = t + pacing_.step + resume_delay(hw_, level);
  if (++agent.step < agent.steps) {
    steps_.push(level, next, id);
    return;
  }
  const std::uint32_t slot = slot_of(id);
  if (--slots_[slot].agents_left != 0) return;
  --live_;
  last_end_ = std::max(last_end_, next);
  free_after_stall_.push(level, next + pacing_.cta_start, slot);
}

void FaultUnit::resolve(AgentId id, Time t) {
  Agent& agent = agents_[id];
  if (--agent.pending == 0)
    step_resolved(
        id, spread_level(static_cast<std::uint64_t>(slots_[slot_of(id)].cta), static_cast<std::uint64_t>(agent.step)),
        t);
}

void FaultUnit::glide(Time limit) {
  if (!program_->looks_once() || stall_version_ != pages_->version()) return;
  const Duration turn = pacing_.residence + pacing_.cta_start;
  const std::int64_t worth_marking = 4 * static_cast<std::int64_t>(slots_.size());
  mark_.rounds = 0;
  mark_.next_mark = 1;
  while (next_cta_ < stall_run_.first) {
    const Time free = free_after_hit_.empty() ? kNever : free_after_hit_.front().time;
    if (free_.empty() || free <= next_dispatch_) {
      if (free >= limit) return;
      now_ = free;
      free_slot(free_after_hit_.front().id, free);
      free_after_hit_.pop();
      continue;
    }
    const Time t = next_dispatch_;
    if (t >= limit) return;
    now_ = t;
    const std::uint32_t before = free_.turn();
    const std::uint32_t slot = free_.take();
    next_dispatch_ = t + pacing_.dispatch;
    ++next_cta_;
    last_end_ = std::max(last_end_, t + pacing_.residence);
    free_after_hit_.push({t + turn, slot});
    if (free_.turn() <= before && stall_run_.first - next_cta_ > worth_marking) {  // a round of the SMs is complete
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
    mark_.running.emplace_back(free_after_hit_[i].time - now_,
                               static_cast<std::uint16_t>(free_.sm_of(free_after_hit_[i].id)));
}

// Whether the state is the marked one, but for a shift in time.
bool FaultUnit::repeats_since_mark() const {
  if (next_dispatch_ - now_ != mark_.next_dispatch || free_after_hit_.size() != mark_.running.size()) return false;
  for (std::size_t i = 0; i < mark_.running.size(); ++i) {
    const auto& [time_left, sm] = mark_.running[i];
    if (free_after_hit_[i].time - now_ != time_left || free_.sm_of(free_after_hit_[i].id) != sm) return false;
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

// --- requests

void FaultUnit::arm(std::uint32_t group, Time t) {
  Group& g = groups_[group];
  if (g.armed || g.stalled_at == pages_->version() || front(g) == nullptr) return;
  g.armed = true;
  drains_.push({t, static_cast<std::uint16_t>(group)});
  for (std::size_t i = drains_.size() - 1; i > 0 && drains_[i - 1].time > drains_[i].time; --i)
    std::swap(drains_[i - 1], drains_[i]);
}

void FaultUnit::drain(std::uint32_t group, Time t) {
  Group& g = groups_[group];
  if (g.asking || g.stalled_at == pages_->version()) return;
  for (Request* r = front(g); r != nullptr; r = front(g)) {
    if (pages_->granted(r->page, r->write)) {
      const Request request = *r;
      pop_front(g);
      resolve_request(request, t);
    } else if (!admit(group, *r, t)) {
      return;
    } else {
      pop_front(g);
    }
  }
}

// Lets the front request of a group join the outstanding one of its page, or asks for a fault entry.
// True when it is done with; else the group waits, for the fault unit or for a replay.
bool FaultUnit::admit(std::uint32_t group, Request& request, Time t) {
  Group& g = groups_[group];
  if (g.used >= hw_.slots_per_group) {
    g.stalled_at = pages_->version();
    return false;
  }
  const auto same = std::find(g.pages.begin(), g.pages.end(), request.page);
  if (same == g.pages.end()) {
    ask(group, t);
    return false;
  }
  if (attach(g, g.outstanding[static_cast<std::size_t>(same - g.pages.begin())], request)) return true;
  g.stalled_at = pages_->version();
  return false;
}

// Moves as many warps of `request` to `outstanding` as there is room for; true when all.
bool FaultUnit::attach(Group& g, Request& outstanding, Request& request) {
  const int warps = std::min<int>(request.weight, hw_.slots_per_group - g.used);
  g.used += warps;
  outstanding.weight = static_cast<std::uint16_t>(outstanding.weight + warps);
  outstanding.write |= request.write;
  request.weight = static_cast<std::uint16_t>(request.weight - warps);
  if (request.weight != 0) return false;  // whoever waits, waits for the rest
  make_listed(request);
  if (request.head == kNone) return true;
  if (outstanding.head == kNone) {
    outstanding.head = request.head;
  } else {
    waiters_[outstanding.tail].next = request.head;
  }
  outstanding.tail = request.tail;
  return true;
}

void FaultUnit::make_listed(Request& request) {
  if (request.listed) return;
  request.listed = true;
  std::uint32_t node = free_waiter_;
  if (node == kNone) {
    node = static_cast<std::uint32_t>(waiters_.size());
    waiters_.push_back({});
  } else {
    free_waiter_ = waiters_[node].next;
  }
  waiters_[node] = {request.head, kNone};
  request.head = request.tail = node;
}

void FaultUnit::resolve_request(const Request& request, Time t) {
  if (!request.listed) {
    resolve(request.head, t);
    return;
  }
  for (std::uint32_t node = request.head; node != kNone;) {
    resolve(waiters_[node].agent, t);
    const std::uint32_t next = waiters_[node].next;
    waiters_[node].next = free_waiter_;
    free_waiter_ = node;
    node = next;
  }
}

void FaultUnit::ask(std::uint32_t group, Time t) {
  groups_[group].asking = true;
  asking_.push(static_cast<std::uint16_t>(group));
  schedule_entry(t);
}

void FaultUnit::schedule_entry(Time t) {
  if (entry_pending_ || asking_.empty() || buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries)) return;
  entry_pending_ = true;
  entry_time_ = std::max(t, next_entry_);
}

void FaultUnit::write_entry(Time t) {
  entry_pending_ = false;
  if (asking_.empty() || buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries)) return;
  const std::uint16_t group = asking_.front();
  asking_.pop();
  Group& g = groups_[group];
  g.asking = false;
  Request* request = front(g);
  if (!pages_->granted(request->page, request->write)) {
    buffer_.push({t + hw_.entry_latency, request->page, group, request->write});
    ++entries_written_;
    next_entry_ = t + hw_.entry_interval;
    g.outstanding.push_back({request->page, 0, request->write, true, kNone, kNone});
    g.pages.push_back(request->page);
    if (attach(g, g.outstanding.back(), *request)) pop_front(g);
  }
  drain(group, t);
  schedule_entry(t);
}

// --- the driver's side

std::size_t FaultUnit::visible(Time at) const {
  std::size_t n = 0;
  while (n < buffer_.size() && buffer_[n].visible <= at) ++n;
  return n;
}

void FaultUnit::take(std::size_t entries, Time at) {
  UVMSIM_CHECK(entries <= buffer_.size(), "the driver read past PUT");
  buffer_.pop(entries);
  schedule_entry(at);
}

void FaultUnit::replay(Time at) {
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    if (g.outstanding.empty() && front(g) == nullptr) continue;
    const std::size_t waiting = g.replayed.size();
    for (const Request& r : g.outstanding) g.replayed.push(r);
    for (std::size_t n = 0; n < waiting; ++n) {  // what was replayed before and not admitted since comes after
      const Request later = g.replayed.front();
      g.replayed.pop();
      g.replayed.push(later);
    }
    g.outstanding.clear();
    g.pages.clear();
    g.used = 0;
    g.stalled_at = 0;
    g.asking = false;
    arm(i, at + replay_delay(hw_, replays_, i));
  }
  ++replays_;
  asking_.clear();
}

}  // namespace uvmsim
