// From touches that fault to entries of the fault buffer, and the driver's side of it.
#include <algorithm>
#include <boost/iterator/counting_iterator.hpp>

#include "base/check.h"
#include "gpu/fault_unit.h"

namespace uvmsim {

std::size_t first_run_to_ask(const std::vector<std::uint64_t>& replays, std::uint64_t sm, std::size_t runs,
                             bool ends_alike) {
  std::size_t first = 0, joined = 0;  // joined: 1 once run 0 has become the end of the last one
  for (const std::uint64_t replay : replays) {
    const std::size_t before = first_warp_to_ask(replay, sm, runs - joined);
    if (before == 0) continue;
    first = joined + (first - joined + before) % (runs - joined);
    joined = ends_alike ? 1 : 0;
  }
  return first;
}

// --- requests

// There is something that waits on `sm`.
void FaultUnit::wait_on(std::uint32_t sm) {
  Group& group = group_of(sm);
  if (group.waiting.contains(sm) || is_stalled(sms_[sm])) return;
  group.waiting.insert(sm);
  group.repeat = 0;
}

// What `touch` finds missing waits behind all that waits on `sm`; `waits`: the agent, for it.
void FaultUnit::enqueue_missing(std::uint32_t sm, AgentId agent, const Touch& touch, bool waits) {
  for (std::uint32_t i = 0; i < touch.pages;) {
    i += pages_->granted_run(touch.at(i), touch.stride, touch.pages - i, touch.write);
    const std::uint32_t missing = pages_->missing_run(touch.at(i), touch.stride, touch.pages - i, touch.write);
    if (missing == 0) return;
    (waits ? agents_[agent].pending : agents_[agent].stores) += touch.weight * missing;
    const Request request{touch.at(i), agent, missing, touch.stride, touch.weight, touch.weight, touch.write, waits};
    Ring<Request>& queue = requests(sm);
    if (queue.empty() || !queue.back().append(request)) queue.push(request);
    wait_on(sm);
    i += missing;
  }
}

// What a replay did not grant waits behind all that waits on `sm`. Writes to pages that are read-only wait before it:
// with read duplication, the next batch takes the right to write back that this one gives, and those whose turn is late
// would never find it.
void FaultUnit::ask_again(std::uint32_t sm, const Held& held) {
  Sm& s = sms_[sm];
  const Request request{held.page, held.agent, 1, 1, held.warps, held.warps, held.write, held.waits};
  if (held.write && pages_->granted(held.page, false)) {
    requests(sm).push_front(request);
    groups_[s.group].refused = true;
  } else if (s.behind.empty()) {
    requests(sm).push(request);
  } else {
    s.behind.push({held.page.value, held.agent, held.warps, 0, true, held.write});
  }
  wait_on(sm);
}

void FaultUnit::schedule_drain(std::uint32_t group, Time t) {
  groups_[group].armed = true;
  drains_.push({t, static_cast<std::uint16_t>(group)});
  for (std::size_t i = drains_.size() - 1; i > 0 && drains_[i - 1].time > drains_[i].time; --i)
    std::swap(drains_[i - 1], drains_[i]);
}

void FaultUnit::drain_next() {
  const auto [time, group] = drains_.front();
  drains_.pop();
  groups_[group].armed = false;
  drain(group, time);
}

// A warp of each SM in turn, until a page needs an entry or there is no room.
void FaultUnit::drain(std::uint32_t group, Time t) {
  Group& g = groups_[group];
  if (g.replayed) settle_replayed(group, t);
  if (g.asking) return;
  while (g.used < hw_.slots_per_group && !g.waiting.empty()) {
    if (hold_rounds(g)) continue;
    const std::uint32_t sm = g.waiting.next(g.turn);
    const Request* request = front_missing(sm, t);
    if (request == nullptr) {
      g.waiting.erase(sm);
      continue;
    }
    if (!merges(g, *request, sm)) {
      g.turn = sm;
      ask(group, t);
      return;
    }
    hold(g, sm);
  }
}

// Whether a request of `sm` is for a page for which its uTLB has an entry.
bool FaultUnit::merges(const Group& group, const Request& request, std::uint32_t sm) const {
  if (!hw_.merges()) return false;
  const Outstanding asked{request.page, sms_[sm].utlb};
  return std::find(group.outstanding.begin(), group.outstanding.end(), asked) != group.outstanding.end();
}

// Of what held slots: warps whose page has come go on, the others ask again.
void FaultUnit::settle_replayed(std::uint32_t group, Time t) {
  groups_[group].replayed = groups_[group].refused = false;
  for (std::uint32_t sm = group; sm < sms_.size(); sm += static_cast<std::uint32_t>(groups_.size())) {
    if (scattered_) begin_with_another(sm);
    const bool stalled = is_stalled(sms_[sm]);
    sms_[sm].refused = 0;
    if (stalled && has_requests(sms_[sm])) wait_on(sm);
    for (const Held& held : sms_[sm].held) {
      if (pages_->granted(held.page, held.write))
        resolve(held.agent, held.warps, held.waits, t);
      else
        ask_again(sm, held);
    }
    sms_[sm].held.clear();
  }
  if (has_turns(groups_[group])) groups_[group].turn = first_sm_to_ask(replays_, group, sms_.size());
}

// After a replay the warps before the one that `sm` begins with wait behind the others.
void FaultUnit::begin_with_another(std::uint32_t sm) {
  constexpr std::size_t kMostWaiting = 256;  // replays, of an SM that none of them lets ask
  Sm& s = sms_[sm];
  if (s.queue.empty()) return;
  s.replays.push_back(replays_);
  if (s.replays.size() == kMostWaiting) reorder(sm);
}

// Brings the requests on `sm` into the order that the replays since the last time have left.
void FaultUnit::reorder(std::uint32_t sm) {
  Sm& s = sms_[sm];
  const Ring<Request>& queue = s.queue;
  starts_.assign(1, 0);  // of the requests of each warp
  for (std::size_t i = 1; i < queue.size(); ++i)
    if (queue[i].agent != queue[i - 1].agent) starts_.push_back(i);
  const bool ends_alike = starts_.size() > 1 && queue.back().agent == queue.front().agent;
  s.queue.rotate(starts_[first_run_to_ask(s.replays, sm, starts_.size(), ends_alike)]);
  s.replays.clear();
}

// The first request on `sm` whose page is missing; those before it go on. nullptr: there is none.
const FaultUnit::Request* FaultUnit::front_missing(std::uint32_t sm, Time t) {
  Ring<Request>& queue = requests(sm);
  while (!queue.empty() || resolve_waiting(sm, t)) {
    Request& front = queue.front();
    const std::uint32_t granted = pages_->granted_run(front.page, front.stride, front.pages, front.write);
    if (granted == 0) return &front;
    const AgentId agent = front.agent;
    const bool waits = front.waits;
    const std::uint32_t warps = front.left + (granted - 1) * front.warps;
    front.drop(granted);
    if (front.pages == 0) queue.pop();
    resolve(agent, warps, waits, t);
  }
  return nullptr;
}

// A warp of the front request on `sm` takes a slot of the group; the next SM has its turn, if the warp's is over.
void FaultUnit::hold(Group& group, std::uint32_t sm) {
  if (group.repeat_version != pages_->version()) group.repeat = 0;
  group.repeat_version = pages_->version();
  const Ring<Request>& queue = sms_[sm].queue;
  const AgentId warp = queue.front().agent;
  const bool own = has_turns(group), more = queue.front().left > 1;
  hold_slots(group, sm, 1);
  group.repeat = more && !own && hw_.merges() && sms_[sm].refused == 0 ? group.repeat + 1 : 0;
  const bool stays = own && !is_stalled(sms_[sm]) && ++group.in_turn < kTurnPages && next_warp(sms_[sm]) == warp;
  group.turn = sm;
  if (!stays) end_turn(group, sm);
}

// Whose request is at the front of `sm`. kNone: there is none, or of a CTA that has asked for nothing so far.
FaultUnit::AgentId FaultUnit::next_warp(const Sm& sm) {
  if (!sm.queue.empty()) return sm.queue.front().agent;
  if (sm.behind.empty() || !sm.behind.front().is_request) return kNone;
  return static_cast<AgentId>(sm.behind.front().missing);
}

// Which SM is asked after `sm`.
void FaultUnit::end_turn(Group& group, std::uint32_t sm) {
  group.in_turn = 0;
  if (has_turns(group) && !scattered_)
    group.turn = next_sm_to_ask(replays_, sm, static_cast<std::uint64_t>(group.used), sms_.size());
  else
    group.turn = sm + 1 == sms_.size() ? 0 : sm + 1;
}

// As many turns of all SMs as are certain to find the same as the last one. False: there is none.
bool FaultUnit::hold_rounds(Group& group) {
  if (group.repeat == 0) return false;  // mostly: no set counted
  const int sms = group.waiting.size();
  if (sms == 0 || group.repeat < sms || group.repeat_version != pages_->version()) return false;
  int rounds = (hw_.slots_per_group - group.used) / sms;
  group.waiting.for_each([&](std::uint32_t sm) { rounds = std::min<int>(rounds, requests(sm).front().left); });
  if (rounds == 0) return false;
  group.repeat = 0;
  group.waiting.for_each([&](std::uint32_t sm) { hold_slots(group, sm, static_cast<std::uint16_t>(rounds)); });
  return true;
}

// `warps` warps of the front request on `sm`, no more than it has left, take slots.
void FaultUnit::hold_slots(Group& group, std::uint32_t sm, std::uint16_t warps) {
  Sm& s = sms_[sm];
  Request& front = s.queue.front();
  const auto same = [&](const Held& held) {
    return held.agent == front.agent && held.page == front.page && held.write == front.write &&
           held.waits == front.waits;
  };
  if (s.held.empty() || !same(s.held.back())) s.held.push_back({front.page, front.agent, 0, front.write, front.waits});
  s.held.back().warps = static_cast<std::uint16_t>(s.held.back().warps + warps);
  if (hw_.refused_writes_per_sm > 0 && front.write && pages_->granted(front.page, false)) s.refused += warps;
  front.left = static_cast<std::uint16_t>(front.left - warps);
  if (front.left == 0) front.drop(1);
  if (front.pages == 0) s.queue.pop();
  if (!has_requests(s) || is_stalled(s)) group.waiting.erase(sm);
  group.used += warps;
}

void FaultUnit::ask(std::uint32_t group, Time t) {
  groups_[group].asking = true;
  asking_.push(static_cast<std::uint16_t>(group));
  schedule_entry(t);
}

void FaultUnit::schedule_entry(Time t) {
  if (entry_pending_ || asking_.empty() || is_full()) return;
  entry_pending_ = true;
  entry_time_ = std::max(t, next_entry_);
}

// The group that asks or the entry that is due, and what follows of both before `limit` and before what a warp that
// goes on may do.
void FaultUnit::handle_requests(Time limit) {
  constexpr unsigned kOften = 128;
  const std::uint64_t resolved = streaks_;
  const std::int64_t live = live_;
  for (unsigned n = 0; n == 0 || (next_request() < limit && streaks_ == resolved && live_ == live); ++n) {
    if (discards_ && n % kOften == 0 && drop_rounds(limit)) continue;
    now_ = next_request();
    if (!drains_.empty() && drains_.front().time == now_)
      drain_next();
    else
      write_entry(now_);
  }
}

void FaultUnit::write_entry(Time t) {
  entry_pending_ = false;
  if (asking_.empty() || is_full()) return;
  const std::uint16_t group = asking_.front();
  asking_.pop();
  Group& g = groups_[group];
  g.asking = false;
  const Sm& sm = sms_[g.turn];
  const Request& request = sm.queue.front();
  if (!pages_->granted(request.page, request.write)) {
    buffer_.push().set(t + hw_.entry_latency, request.page, sm.utlb, request.write);
    ++entries_written_;
    next_entry_ = t + hw_.entry_interval;
    if (hw_.merges()) g.outstanding.push_back({request.page, sm.utlb});
    g.asks_again = t + hw_.group_interval;
    hold(g, g.turn);
  }
  if (g.asks_again > t)
    arm(group, t);
  else
    drain(group, t);
  schedule_entry(t);
}

// --- the driver's side

std::size_t visible_at(const Ring<BufferedFault>& buffer, Time at) {
  const boost::counting_iterator<std::size_t> oldest(0), outer(buffer.size());  // in the order in which they are seen
  return *std::partition_point(oldest, outer, [&](std::size_t i) { return buffer[i].visible <= at; });
}

void FaultUnit::take(std::size_t entries, Time at) {
  UVMSIM_CHECK(entries <= buffer_.size(), "the driver read past PUT");
  buffer_.pop(entries);
  schedule_entry(at);
}

void FaultUnit::replay(Time at) {
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    if (g.used == 0 && g.waiting.empty()) continue;
    g.replayed |= g.used != 0;
    g.outstanding.clear();
    g.used = g.repeat = g.in_turn = 0;
    g.asking = false;
    arm(i, at + replay_delay(hw_, replays_, i));
  }
  ++replays_;
  asking_.clear();
}

}  // namespace uvmsim
