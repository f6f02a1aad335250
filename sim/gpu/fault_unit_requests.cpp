// From touches that fault to entries of the fault buffer, and the driver's side of it.
#include <algorithm>

#include "base/check.h"
#include "gpu/fault_unit.h"

namespace uvmsim {

// --- requests

FaultUnit::Request* FaultUnit::front(Group& group, Time t) {
  if (!group.replayed.empty()) return &group.replayed.front();
  if (group.queue.empty()) resolve_waiting(group, t);
  return group.queue.empty() ? nullptr : &group.queue.front();
}

// `touch` comes after the others that `id` has postponed in its step; `last` is the last one of them.
void FaultUnit::postpone(AgentId id, std::uint32_t& last, const Touch& touch) {
  const std::uint32_t node = postponed_.take({touch, kNone});
  (last == kNone ? agents_[id].postponed : postponed_[last].next) = node;
  last = node;
}

// The front request leaves the queue; of a warp that asks for a few pages at a time the next one comes in.
void FaultUnit::pop_front(Group& group) {
  if (!group.replayed.empty()) {
    group.replayed.pop();
    return;
  }
  const Request& front = group.queue.front();
  const AgentId id = front.listed ? waiters_[front.head].agent : front.head;
  group.queue.pop();
  const std::uint32_t node = agents_[id].postponed;
  if (node == kNone) return;
  const Touch& touch = postponed_[node].touch;
  group.queue.push({touch.page, touch.weight, touch.write, false, id, kNone});
  agents_[id].postponed = postponed_.give_back(node);
}

void FaultUnit::arm(std::uint32_t group, Time t) {
  Group& g = groups_[group];
  if (!takes_requests(g) || !waits(g)) return;
  g.armed = true;
  drains_.push({t, static_cast<std::uint16_t>(group)});
  for (std::size_t i = drains_.size() - 1; i > 0 && drains_[i - 1].time > drains_[i].time; --i)
    std::swap(drains_[i - 1], drains_[i]);
}

void FaultUnit::drain(std::uint32_t group, Time t) {
  Group& g = groups_[group];
  if (g.asking || g.stalled_at == pages_->version()) return;
  for (Request* r = front(g, t); r != nullptr; r = front(g, t)) {
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
  request.head = request.tail = waiters_.take({request.head, kNone});
}

void FaultUnit::resolve_request(const Request& request, Time t) {
  if (!request.listed) {
    resolve(request.head, t);
    return;
  }
  for (std::uint32_t node = request.head; node != kNone;) {
    resolve(waiters_[node].agent, t);
    node = waiters_.give_back(node);
  }
}

void FaultUnit::ask(std::uint32_t group, Time t) {
  groups_[group].asking = true;
  asking_.push(static_cast<std::uint16_t>(group));
  schedule_entry(t);
}

void FaultUnit::schedule_entry(Time t) {
  if (entry_pending_ || refused_ || asking_.empty() ||
      buffer_.size() >= static_cast<std::size_t>(hw_.fault_buffer_entries))
    return;
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
  Request* request = front(g, t);
  if (!pages_->granted(request->page, request->write)) {
    buffer_.push({t + hw_.entry_latency, request->page, group, request->write});
    ++entries_written_;
    next_entry_ = t + hw_.entry_interval;
    refused_ = pages_->granted(request->page, false);
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
    if (g.outstanding.empty() && !waits(g)) continue;
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
  refused_ = false;
  asking_.clear();
}

}  // namespace uvmsim
