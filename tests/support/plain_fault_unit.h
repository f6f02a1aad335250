// The fault hardware walked plainly: every CTA, every event through one heap, nothing skipped. The oracle
// that FaultUnit must equal (rules: sim/gpu/fault_unit.h).
#pragma once

#include <algorithm>
#include <deque>
#include <queue>
#include <vector>

#include "gpu/fault_unit.h"

namespace uvmsim::testing_support {

class PlainFaultUnit {
 public:
  explicit PlainFaultUnit(const GpuSpec& gpu)
      : gpu_(gpu), hw_(gpu.fault), groups_(static_cast<std::size_t>(hw_.utlb_groups)) {}

  void launch(const KernelProgram& program, const PageTable& pages, Duration in_core, Time at) {
    program_ = &program;
    pages_ = &pages;
    pacing_ = Pacing(gpu_, program, in_core);
    launched_ = last_end_ = next_dispatch_ = at;
    next_cta_ = live_ = 0;
    missed_ = false;
    // Every warp of the kernel before has ended: what is left waits for nobody.
    events_ = {};
    asking_.clear();
    entry_pending_ = refused_ = false;
    groups_.assign(groups_.size(), {});
    const std::int64_t slots = std::min(pacing_.slots, program.ctas());
    slots_.assign(static_cast<std::size_t>(slots), {});
    agents_.assign(static_cast<std::size_t>(slots * program.agents()), {});
    free_.clear();
    for (std::int64_t s = 0; s < slots; ++s) free_.push_back(s);
    dispatch_pending_ = false;
    schedule_dispatch();
  }

  void advance(Time until) {
    while (!events_.empty() && events_.top().time <= until) step();
  }
  void advance_to_fault(Time limit) {
    const std::int64_t written = written_;
    while (written_ == written && !ended() && !events_.empty() && events_.top().time <= limit) step();
  }
  bool ended() const { return next_cta_ == program_->ctas() && live_ == 0; }
  Time end() const {
    const Time in_core = launched_ + pacing_.duration;
    return missed_ ? std::max(in_core, last_end_) : in_core;
  }
  const std::deque<BufferedFault>& buffer() const { return buffer_; }
  void take(std::size_t n, Time at) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(n));
    schedule_entry(at);
  }
  void replay(Time at) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& g = groups_[i];
      if (g.outstanding.empty() && g.queue.empty()) continue;
      g.queue.insert(g.queue.begin(), g.outstanding.begin(), g.outstanding.end());
      g.outstanding.clear();
      g.used = 0;
      g.asking = false;
      arm(i, at + replay_delay(hw_, replays_, i));
    }
    ++replays_;
    refused_ = false;
    asking_.clear();
  }

 private:
  enum class Kind { Drain, FaultEntry, FirstStep, Step, FreeAfterStall, FreeAfterHit, Dispatch };
  struct Event {
    Time time;
    Kind kind;
    std::uint64_t order;
    std::int64_t id;
    bool operator>(const Event& o) const { return std::tie(time, kind, order) > std::tie(o.time, o.kind, o.order); }
  };
  struct Request {
    PageNumber page;
    int weight;
    bool write;
    std::vector<std::int64_t> agents;
    bool fresh;  // not admitted so far
  };
  struct Group {
    std::deque<Request> queue, outstanding;
    int used = 0;
    bool armed = false, asking = false;
  };
  struct Agent {
    std::int64_t step = 0;
    std::uint64_t streak = 0;  // its first step, or its last miss resolved
    int pending = 0;
    std::deque<Touch> postponed;
  };
  struct Slot {
    std::int64_t cta = 0;
    int left = 0;
  };

  void schedule(Time t, Kind kind, std::int64_t id) { events_.push({t, kind, order_++, id}); }
  void schedule_step(const Agent& agent, Time t, std::int64_t id) { events_.push({t, Kind::Step, agent.streak, id}); }
  void step() {
    const Event e = events_.top();
    events_.pop();
    const auto id = static_cast<std::size_t>(e.id);
    switch (e.kind) {
      case Kind::Drain:
        groups_[id].armed = false;
        return drain(id, e.time);
      case Kind::FaultEntry:
        return write_entry(e.time);
      case Kind::FirstStep:
      case Kind::Step:
        return step_agent(e.id, e.time);
      case Kind::FreeAfterStall:
      case Kind::FreeAfterHit:
        if (free_.empty()) next_dispatch_ = std::max(next_dispatch_, e.time);
        free_.push_back(e.id);
        return schedule_dispatch();
      case Kind::Dispatch:
        dispatch_pending_ = false;
        next_dispatch_ = e.time + pacing_.dispatch;
        start(take_slot(), e.time);
        return schedule_dispatch();
    }
  }
  void schedule_dispatch() {
    if (dispatch_pending_ || free_.empty() || next_cta_ >= program_->ctas()) return;
    dispatch_pending_ = true;
    schedule(next_dispatch_, Kind::Dispatch, 0);
  }
  std::int64_t take_slot() {
    const std::int64_t slot = free_.front();
    free_.pop_front();
    return slot;
  }
  void start(std::int64_t slot, Time t) {
    const std::int64_t cta = next_cta_++;
    if (program_->looks_once() && !program_->stalls(cta, *pages_)) {
      last_end_ = std::max(last_end_, t + pacing_.residence);
      schedule(t + pacing_.residence + pacing_.cta_start, Kind::FreeAfterHit, slot);
      return;
    }
    ++live_;
    slots_[static_cast<std::size_t>(slot)] = {cta, program_->agents()};
    for (int a = 0; a < program_->agents(); ++a) agents_[static_cast<std::size_t>(slot * program_->agents() + a)] = {};
    step_agent(slot * program_->agents(), t);
    for (int a = 1; a < program_->agents(); ++a)
      schedule(t + hw_.warp_stagger * a, Kind::FirstStep, slot * program_->agents() + a);
  }
  void step_agent(std::int64_t id, Time t) {
    Agent& agent = agents_[static_cast<std::size_t>(id)];
    const std::int64_t slot = id / program_->agents();
    const std::int64_t cta = slots_[static_cast<std::size_t>(slot)].cta;
    const int index = static_cast<int>(id % program_->agents());
    if (agent.step == 0) agent.streak = streaks_++;
    std::vector<Touch> touches;
    program_->step(cta, index, agent.step, touches);
    const std::size_t group = static_cast<std::size_t>(slot % gpu_.sms) % groups_.size();
    for (const Touch& touch : touches) {
      if (pages_->granted(touch.page, touch.write)) continue;
      if (++agent.pending > hw_.requests_per_warp && program_->scattered())
        agent.postponed.push_back(touch);
      else
        groups_[group].queue.push_back({touch.page, touch.weight, touch.write, {id}, true});
    }
    missed_ |= agent.pending != 0;
    agent.pending != 0 ? arm(group, t) : next_step(agent, id, t + pacing_.step);
  }
  void next_step(Agent& agent, std::int64_t id, Time next) {
    const std::int64_t slot = id / program_->agents();
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (++agent.step < program_->steps(s.cta, static_cast<int>(id % program_->agents()))) {
      schedule_step(agent, next, id);
    } else if (--s.left == 0) {
      --live_;
      last_end_ = std::max(last_end_, next);
      schedule(next + pacing_.cta_start, Kind::FreeAfterStall, slot);
    }
  }
  void arm(std::size_t group, Time t) {
    Group& g = groups_[group];
    if (g.armed || g.queue.empty()) return;
    g.armed = true;
    schedule(t, Kind::Drain, static_cast<std::int64_t>(group));
  }
  void drain(std::size_t group, Time t) {
    Group& g = groups_[group];
    while (!g.asking && !g.queue.empty()) {
      Request& r = g.queue.front();
      if (pages_->granted(r.page, r.write)) {
        const Request done = r;
        pop(g, done);
        for (const std::int64_t id : done.agents)
          if (Agent& agent = agents_[static_cast<std::size_t>(id)]; --agent.pending == 0) {
            agent.streak = streaks_++;
            next_step(agent, id, t + pacing_.late_step);
          }
        continue;
      }
      if (g.used >= hw_.slots_per_group) return;
      const auto same =
          std::find_if(g.outstanding.begin(), g.outstanding.end(), [&](const Request& o) { return o.page == r.page; });
      if (same == g.outstanding.end()) {
        g.asking = true;
        asking_.push_back(group);
        schedule_entry(t);
        return;
      }
      if (!take_slots(g, *same)) return;
    }
  }
  // The front request leaves the queue: the next one of its agent may come in.
  void pop(Group& g, const Request& front) {
    g.queue.pop_front();
    if (!front.fresh) return;
    const std::int64_t id = front.agents.front();
    Agent& agent = agents_[static_cast<std::size_t>(id)];
    if (agent.postponed.empty()) return;
    const Touch touch = agent.postponed.front();
    agent.postponed.pop_front();
    g.queue.push_back({touch.page, touch.weight, touch.write, {id}, true});
  }
  bool take_slots(Group& g, Request& outstanding) {
    Request& r = g.queue.front();
    const int warps = std::min(r.weight, hw_.slots_per_group - g.used);
    g.used += warps;
    outstanding.weight += warps;
    outstanding.write |= r.write;
    r.weight -= warps;
    if (r.weight > 0) return false;
    outstanding.agents.insert(outstanding.agents.end(), r.agents.begin(), r.agents.end());
    pop(g, Request(r));
    return true;
  }
  void schedule_entry(Time t) {
    if (entry_pending_ || refused_ || asking_.empty() ||
        buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries))
      return;
    entry_pending_ = true;
    schedule(std::max(t, next_entry_), Kind::FaultEntry, 0);
  }
  void write_entry(Time t) {
    entry_pending_ = false;
    if (asking_.empty() || buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries)) return;
    const std::size_t group = asking_.front();
    asking_.pop_front();
    Group& g = groups_[group];
    g.asking = false;
    const Request& r = g.queue.front();
    if (!pages_->granted(r.page, r.write)) {
      buffer_.push_back({t + hw_.entry_latency, r.page, static_cast<std::uint16_t>(group), r.write});
      ++written_;
      next_entry_ = t + hw_.entry_interval;
      refused_ = pages_->granted(r.page, false);
      g.outstanding.push_back({r.page, 0, r.write, {}, false});
      take_slots(g, g.outstanding.back());
    }
    drain(group, t);
    schedule_entry(t);
  }

  GpuSpec gpu_;
  FaultHardware hw_;
  Pacing pacing_;
  bool missed_ = false;
  const KernelProgram* program_ = nullptr;
  const PageTable* pages_ = nullptr;
  Time launched_{}, last_end_{}, next_dispatch_{}, next_entry_{};
  std::int64_t next_cta_ = 0, live_ = 0, written_ = 0;
  std::vector<Slot> slots_;
  std::vector<Agent> agents_;
  std::vector<Group> groups_;
  std::deque<std::size_t> asking_;
  std::deque<BufferedFault> buffer_;
  bool entry_pending_ = false, dispatch_pending_ = false;
  bool refused_ = false;  // the last entry was of a write to a read-only page
  std::deque<std::int64_t> free_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0, replays_ = 0, streaks_ = 0;
};

}  // namespace uvmsim::testing_support
