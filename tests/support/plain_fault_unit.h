// The fault hardware walked plainly: every CTA, every event through one heap, nothing skipped. The oracle
// that FaultUnit must equal (rules: sim/gpu/fault_unit.h).
#pragma once

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/fault_unit.h"

namespace uvmsim::testing_support {

class PlainFaultUnit {
 public:
  explicit PlainFaultUnit(const GpuSpec& gpu)
      : gpu_(gpu),
        hw_(gpu.fault),
        groups_(static_cast<std::size_t>(hw_.utlb_groups)),
        sms_(static_cast<std::size_t>(gpu.sms)) {}

  void launch(const KernelProgram& program, const PageTable& pages, Duration in_core, Time at) {
    program_ = &program;
    pages_ = &pages;
    pacing_ = Pacing(gpu_, program, in_core);
    launched_ = last_end_ = next_dispatch_ = at;
    next_cta_ = live_ = 0;
    missed_ = false;
    replays_ = 0;
    scattered_ = false;
    // Every warp of the kernel before has ended: what is left waits for nobody.
    events_ = {};
    asking_.clear();
    entry_pending_ = false;
    groups_.assign(groups_.size(), {});
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].turn = g;
    sms_.assign(sms_.size(), {});
    const std::int64_t slots = std::min(pacing_.slots, program.ctas());
    slots_.assign(static_cast<std::size_t>(slots), {});
    agents_.assign(static_cast<std::size_t>(slots * program.agents()), {});
    free_.clear();
    for (std::int64_t s = 0; s < slots; ++s) free_.push_back({at, s, true});
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
      if (g.used == 0 && !waits(i)) continue;
      g.replayed |= g.used != 0;
      g.outstanding.clear();
      g.used = g.in_turn = 0;
      g.asking = false;
      arm(i, at + replay_delay(hw_, replays_, i));
    }
    ++replays_;
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
    int warps;
    bool write;
    std::int64_t agent;
    bool waits;
  };
  struct Sm {
    std::deque<Request> queue;
    std::vector<Request> held;
    int refused = 0;
  };
  struct Group {
    std::vector<std::pair<PageNumber, std::uint16_t>> outstanding;  // and the uTLB that asked
    std::size_t turn = 0;
    int used = 0, in_turn = 0;
    Time asks_again{};
    bool armed = false, asking = false, replayed = false, refused = false;
  };
  struct Agent {
    std::int64_t step = 0;
    std::uint64_t streak = 0;  // its first step, or its last miss resolved
    int pending = 0, stores = 0;
    bool done = false;
  };
  struct FreeSlot {
    Time since;
    std::int64_t slot;
    bool at_first;
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
        free_.push_back({e.time, e.id, false});
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
  // Of those that have been free for longest: at first in turn, later that of the first SM which has one, from a random
  // one on.
  std::int64_t take_slot() {
    const auto first = first_sm_to_ask(next_cta_, gpu_.sms);
    const auto rank = [&](const FreeSlot& f) {
      return f.at_first ? 0 : (f.slot % gpu_.sms + gpu_.sms - static_cast<std::int64_t>(first)) % gpu_.sms;
    };
    const auto taken = std::ranges::min_element(
        free_, {}, [&](const FreeSlot& f) { return std::tuple(!f.at_first, f.since, rank(f)); });
    const std::int64_t slot = taken->slot;
    free_.erase(taken);
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
    const auto sm = static_cast<std::size_t>(slot % gpu_.sms);
    const bool full = agent.stores >= static_cast<int>(kStoresAhead);
    bool misses = false;
    for (const Touch& touch : touches) {
      for (std::uint32_t i = 0; i < touch.pages; ++i) {
        if (pages_->granted(touch.at(i), touch.write)) continue;
        const bool waits = !touch.write || full;
        (waits ? agent.pending : agent.stores) += touch.weight;
        sms_[sm].queue.push_back({touch.at(i), touch.weight, touch.write, id, waits});
        misses = true;
      }
    }
    missed_ |= misses;
    scattered_ |= scatters(*program_, touches);
    if (misses) arm(sm % groups_.size(), t);
    if (agent.pending == 0) next_step(agent, id, t + pacing_.step);
  }
  void next_step(Agent& agent, std::int64_t id, Time next) {
    const std::int64_t slot = id / program_->agents();
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    if (++agent.step < program_->steps(s.cta, static_cast<int>(id % program_->agents()))) {
      schedule_step(agent, next, id);
    } else {
      agent.done = true;
      if (agent.stores == 0) end_agent(slot, next);
    }
  }
  void end_agent(std::int64_t slot, Time end) {
    if (--slots_[static_cast<std::size_t>(slot)].left != 0) return;
    --live_;
    last_end_ = std::max(last_end_, end);
    schedule(end + pacing_.cta_start, Kind::FreeAfterStall, slot);
  }
  bool waits(std::size_t group) const {
    for (std::size_t sm = group; sm < sms_.size(); sm += groups_.size())
      if (asks(sm)) return true;
    return false;
  }
  // It has requests, and no refused writes stall it.
  bool asks(std::size_t sm) const {
    const int most = hw_.refused_writes_per_sm;
    return !sms_[sm].queue.empty() && (most == 0 || sms_[sm].refused < most);
  }
  void arm(std::size_t group, Time t) {
    Group& g = groups_[group];
    if (g.armed || g.asking || g.used == hw_.slots_per_group || (!waits(group) && !g.replayed)) return;
    g.armed = true;
    schedule(std::max(t, g.asks_again), Kind::Drain, static_cast<std::int64_t>(group));
  }
  void resolve(const Request& request, Time t) {
    Agent& agent = agents_[static_cast<std::size_t>(request.agent)];
    if (!request.waits) {
      agent.stores -= request.warps;
      if (agent.stores == 0 && agent.done) end_agent(request.agent / program_->agents(), t + pacing_.late_step);
      return;
    }
    agent.pending -= request.warps;
    if (agent.pending != 0) return;
    agent.streak = streaks_++;
    next_step(agent, request.agent, t + pacing_.late_step);
  }
  void drain(std::size_t group, Time t) {
    Group& g = groups_[group];
    if (g.replayed) {
      g.replayed = g.refused = false;
      for (std::size_t sm = group; sm < sms_.size(); sm += groups_.size()) {
        if (scattered_) begin_with_another(sm);
        sms_[sm].refused = 0;
        for (const Request& r : std::exchange(sms_[sm].held, {})) {
          const bool read_only = r.write && pages_->granted(r.page, false);
          if (pages_->granted(r.page, r.write))
            resolve(r, t);
          else
            read_only ? sms_[sm].queue.push_front(r) : sms_[sm].queue.push_back(r);
          g.refused |= read_only && !pages_->granted(r.page, true);
        }
      }
      if (has_turns(g)) g.turn = in_group(group, first_sm_to_ask(replays_, group, sms_.size()));
    }
    while (!g.asking && g.used < hw_.slots_per_group && waits(group)) {
      std::size_t turn = g.turn;
      while (!asks(turn)) turn = after(turn);
      std::deque<Request>& queue = sms_[turn].queue;
      const Request front = queue.front();
      if (pages_->granted(front.page, front.write)) {
        queue.pop_front();
        resolve(front, t);
        continue;
      }
      g.turn = turn;
      const auto same = std::ranges::find(g.outstanding, std::pair(front.page, utlb(turn)));
      if (hw_.merges() && same != g.outstanding.end()) {
        hold(g);
      } else {
        g.asking = true;
        asking_.push_back(group);
        schedule_entry(t);
      }
    }
  }
  // The requests of the warps before the one that it begins with go behind.
  void begin_with_another(std::size_t sm) {
    std::deque<Request>& queue = sms_[sm].queue;
    std::vector<std::ptrdiff_t> warps;  // where each begins
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (i == 0 || queue[i].agent != queue[i - 1].agent) warps.push_back(static_cast<std::ptrdiff_t>(i));
    const std::uint32_t first = first_warp_to_ask(replays_, sm, warps.size());
    for (std::uint32_t i = 0; i < first; ++i) {
      const std::int64_t warp = queue.front().agent;
      for (; queue.front().agent == warp; queue.pop_front()) queue.push_back(queue.front());
    }
  }
  bool has_turns(const Group& g) const { return g.refused || (program_->agents() > 1 && replays_ > 0); }
  std::uint16_t utlb(std::size_t sm) const { return utlb_of(hw_, static_cast<std::uint32_t>(sm)); }
  // The first SM of a group from `sm` on, or its first one.
  std::size_t in_group(std::size_t group, std::size_t sm) const {
    while (sm < sms_.size() && sm % groups_.size() != group) ++sm;
    return sm < sms_.size() ? sm : group;
  }
  // The next SM of its group.
  std::size_t after(std::size_t sm) const {
    return sm + groups_.size() < sms_.size() ? sm + groups_.size() : sm % groups_.size();
  }
  // A warp of the front request takes a slot. After a replay it may have further ones.
  void hold(Group& g) {
    Sm& sm = sms_[g.turn];
    Request& front = sm.queue.front();
    const std::int64_t warp = front.agent;
    sm.held.push_back({front.page, 1, front.write, front.agent, front.waits});
    if (front.write && pages_->granted(front.page, false)) ++sm.refused;
    if (--front.warps == 0) sm.queue.pop_front();
    ++g.used;
    const bool turns = has_turns(g);
    const bool more = turns && asks(g.turn) && sm.queue.front().agent == warp;
    if (more && ++g.in_turn < kTurnPages) return;
    g.in_turn = 0;
    const std::uint32_t next =
        next_sm_to_ask(replays_, static_cast<std::uint32_t>(g.turn), static_cast<std::uint64_t>(g.used), sms_.size());
    g.turn = turns && !scattered_ ? in_group(g.turn % groups_.size(), next) : after(g.turn);
  }
  void schedule_entry(Time t) {
    if (entry_pending_ || asking_.empty() || buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries))
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
    const Request r = sms_[g.turn].queue.front();
    if (!pages_->granted(r.page, r.write)) {
      buffer_.push_back({t + hw_.entry_latency, r.page, utlb(g.turn), r.write});
      ++written_;
      next_entry_ = t + hw_.entry_interval;
      g.outstanding.push_back({r.page, utlb(g.turn)});
      g.asks_again = t + hw_.group_interval;
      hold(g);
    }
    g.asks_again > t ? arm(group, t) : drain(group, t);
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
  std::vector<Sm> sms_;
  std::deque<std::size_t> asking_;
  std::deque<BufferedFault> buffer_;
  bool entry_pending_ = false, dispatch_pending_ = false;
  std::deque<FreeSlot> free_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0, replays_ = 0, streaks_ = 0;
  bool scattered_ = false;
};

}  // namespace uvmsim::testing_support
