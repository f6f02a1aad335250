#include "engine/flows.h"

#include <algorithm>

#include "engine/clock.h"

namespace uvmsim {

bool Flows::run_actors() {
  bool all_ended = false;
  network_.run([&] { all_ended = scheduler().run([this](Time next) { return advance(next); }); });
  return all_ended;
}

Flows::Shares Flows::move(const Route& route, Bytes size) {
  Flow flow;
  flow.route = &route;
  flow.actor = &scheduler().self();
  flow.left = static_cast<double>(size.value);
  begin(flow);
  Shares carried;
  for (const LinkDirection* d : route.hops) carried.push_back(-d->carried);
  wait(flow);
  end(flow);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] += route.hops[i]->carried;
  return carried;
}

void Flows::begin(Flow& flow) {
  const Route& route = *flow.route;
  account(route);
  for (LinkDirection* d : route.hops) {
    ++d->flows;
    d->wanted += route.bandwidth;
  }
  if (route.mover != nullptr) ++route.mover->flows;
  flow.since = now();
  alone_.push_back(&flow);
  change(route);
}

void Flows::wait(Flow& flow) {
  while (flow.shares ? !flow.done : now() < flow.end) scheduler().wait_until(flow.shares ? kNever : flow.end);
}

void Flows::end(Flow& flow) {
  const Route& route = *flow.route;
  account(route);
  for (LinkDirection* d : route.hops) {
    --d->flows;
    d->wanted -= route.bandwidth;
  }
  if (route.mover != nullptr) --route.mover->flows;
  if (!flow.shares) std::erase(alone_, &flow);
  change(route);
}

// To be called before the number of flows changes.
void Flows::account(const Route& route) {
  const auto carry = [at = now()](LinkDirection& d) {
    double share = d.has / std::max(d.flows, 1);
    if (d.both) share = std::min(share, d.both_capacity / std::max(d.flows + d.opposite->flows, 1));
    d.carried += share * seconds(at - d.carried_at);
    d.carried_at = at;
  };
  for (LinkDirection* d : route.hops) {
    carry(*d);
    if (d->opposite != nullptr) carry(*d->opposite);
  }
}

// A flow of `route` has begun or ended: so the links have other capacities, and the flows on them other rates.
void Flows::change(const Route& route) {
  ++changes_;
  for (LinkDirection* d : route.hops) {
    refresh(*d);
    if (d->opposite != nullptr) refresh(*d->opposite);
  }
  std::erase_if(alone_, [this](Flow* flow) {
    if (concerned(*flow)) set_rate(*flow, rate_of(*flow));
    return flow->shares;
  });
}

void Flows::refresh(LinkDirection& d) {
  d.changed = changes_;
  double capacity = d.opposite != nullptr && d.opposite->flows > 0 ? d.duplex_capacity : d.capacity;
  if (d.flows > 0 && !d.efficiency.empty() && !d.unlimited)
    capacity *= d.efficiency[std::min(static_cast<std::size_t>(d.flows), d.efficiency.size()) - 1];
  capacities_changed_ |= capacity != d.has;
  d.has = capacity;
}

bool Flows::concerned(const Flow& flow) const {
  return std::ranges::any_of(flow.route->hops, [this](const LinkDirection* d) { return d->changed == changes_; });
}

// 0: a link has less than its flows want, and others want it too.
double Flows::rate_of(const Flow& flow) const {
  const Route& route = *flow.route;
  if (simgrid_only_ || (route.mover != nullptr && route.mover->flows > 1)) return 0;
  double rate = route.bandwidth;
  for (const LinkDirection* d : route.hops) {
    const bool alone = d->flows == 1 || d->unlimited;
    if (alone) rate = std::min(rate, d->has);
    if (!alone && d->wanted > d->has) return 0;
    if (!d->both || d->wanted + d->opposite->wanted <= d->both_capacity) continue;
    if (d->flows + d->opposite->flows > 1) return 0;
    rate = std::min(rate, d->both_capacity);
  }
  return rate;
}

void Flows::set_rate(Flow& flow, double rate) {
  const Time at = now();
  if (flow.rate > 0 && (rate == flow.rate || flow.end <= at)) return;
  flow.left = std::max(0.0, flow.left - flow.rate * seconds(at - flow.since));
  flow.since = at;
  flow.rate = rate;
  const bool waits = &scheduler().self() != flow.actor;
  if (rate > 0) {
    flow.end = at + from_seconds(std::min(flow.left / rate, seconds(kNever - at)));  // no time is later
    if (waits) scheduler().wake_at(*flow.actor, flow.end);
    return;
  }
  flow.shares = true;
  sharing_.push_back(&flow);
  if (waits) scheduler().wake_at(*flow.actor, kNever);
}

// SimGrid runs only to where its flows change, and to where one of them may end.
Time Flows::advance(Time next) {
  if (sharing_.empty()) return next;
  if (has_news()) {
    if (Flow* flow = run_simgrid(now())) return ended(*flow, next);
    hand_over();
    tell_capacities();
    next_end_ = next_end();
  }
  if (next < next_end_) return next;
  if (Flow* flow = run_simgrid(next)) return ended(*flow, next);
  next_end_ = next_end();
  return next;
}

// There are flows that SimGrid does not know of, or capacities of those that it does.
bool Flows::has_news() const {
  if (network_.flows() < sharing_.size()) return true;
  return capacities_changed_ && std::ranges::any_of(sharing_, [](const Flow* flow) {
           return std::ranges::any_of(flow->route->hops, [](const LinkDirection* d) { return d->has != d->told; });
         });
}

// Lets SimGrid go on to `until`, or to where the first of its flows ends, which is returned.
Flows::Flow* Flows::run_simgrid(Time until) {
  const std::optional<std::size_t> first =
      network_.advance(until == kNever ? -1 : std::max(0.0, seconds(until) - network_.clock()));
  if (!first) return nullptr;
  Flow* const flow = sharing_[*first];
  sharing_.erase(sharing_.begin() + static_cast<std::ptrdiff_t>(*first));
  return flow;
}

Time Flows::ended(Flow& flow, Time next) {
  flow.done = true;
  scheduler().wake(*flow.actor);
  return std::clamp(from_seconds(network_.clock()), now(), next);
}

// No flow of SimGrid's ends before: until there is news, each goes as fast as its links have capacity at most.
Time Flows::next_end() const {
  double next = seconds(kNever);
  for (std::size_t i = 0; i < network_.flows(); ++i) {
    double most = sharing_[i]->route->bandwidth;
    for (const LinkDirection* d : sharing_[i]->route->hops) most = std::min(most, d->has);
    next = std::min(next, network_.clock() + network_.left(i) / most);
  }
  return from_seconds(next) - Duration{10};  // SimGrid's precision is 1 ps
}

// Starts what is to be SimGrid's.
void Flows::hand_over() {
  while (network_.flows() < sharing_.size()) {
    const Flow& flow = *sharing_[network_.flows()];
    // SimGrid never lets a flow go faster than its links could when it started: they are at their best then.
    for (LinkDirection* d : flow.route->hops) tell(*d, d->capacity);
    network_.start(flow.route->from, flow.route->to, static_cast<std::uint64_t>(std::max(1.0, flow.left + 0.5)));
  }
}

void Flows::tell_capacities() {
  for (const Flow* flow : sharing_)
    for (LinkDirection* d : flow->route->hops) tell(*d, d->has);
  capacities_changed_ = false;
}

void Flows::tell(LinkDirection& d, double capacity) {
  if (capacity == d.told) return;
  d.told = capacity;
  network_.set_capacity(d.link, capacity);
}

}  // namespace uvmsim
