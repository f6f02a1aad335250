#include "engine/fabric.h"

#include <algorithm>
#include <deque>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "base/check.h"
#include "engine/clock.h"

namespace uvmsim {

namespace sg4 = simgrid::s4u;

namespace {

std::string gpu_name(int index) { return "gpu" + std::to_string(index); }
bool ends_there(const std::string& node) { return node.starts_with("gpu") || node.starts_with("memory"); }

}  // namespace

Fabric::Fabric(const Machine& machine, bool unlimited) : peer_access_(machine.peer_access) {
  sg4::NetZone* zone = sg4::create_full_zone("machine");
  for (const LinkSpec& spec : machine.links) add_link(spec, zone, unlimited);
  for (const Hop& hop : graph_)
    if (ends_there(hop.from) && !nodes_.contains(hop.from)) nodes_[hop.from] = zone->create_host(hop.from, 1e9)->seal();
  const int gpus = static_cast<int>(machine.gpus.size());
  for (int g = 0; g < gpus; ++g) add_gpu(machine.gpus[static_cast<std::size_t>(g)], g, zone);
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      if (a == b) continue;
      const bool nvlink = !path(gpu_name(a), gpu_name(b), true).empty();
      if (nvlink) nvlinked_.insert({a, b});
      between_[{a, b}] = find_route(gpu_name(a), gpu_name(b), nvlink);
      register_route(zone, between_[{a, b}]);
    }
  }
  zone->seal();
}

void Fabric::add_gpu(const GpuSpec& gpu, int index, sg4::NetZone* zone) {
  const std::string name = gpu_name(index);
  UVMSIM_CHECK(nodes_.contains(name), "every GPU of a machine has a link");
  const std::string memory = nearest_memory(name);
  to_gpu_.push_back(find_route(memory, name, false));
  from_gpu_.push_back(find_route(name, memory, false));
  // SimGrid has one route for two hosts: the same path at another rate ends at a host of its own.
  simgrid::s4u::Host* bulk = zone->create_host(name + ".bulk", 1e9)->seal();
  bulk_to_gpu_.push_back(to_gpu_.back());
  bulk_to_gpu_.back().to = bulk;
  bulk_from_gpu_.push_back(from_gpu_.back());
  bulk_from_gpu_.back().from = bulk;
  remote_.push_back(to_gpu_.back());
  remote_.back().to = zone->create_host(name + ".sms", 1e9)->seal();
  limit(to_gpu_.back(), name + ".h2d", gpu.copy.h2d_bandwidth, zone);
  limit(from_gpu_.back(), name + ".d2h", gpu.copy.d2h_bandwidth, zone);
  limit(remote_.back(), name + ".remote", gpu.remote_bandwidth, zone);
  for (const auto* routes : {&to_gpu_, &from_gpu_, &bulk_to_gpu_, &bulk_from_gpu_, &remote_})
    register_route(zone, routes->back());
}

// A rate is a link of its own at the end of the route: SimGrid ignores Comm::set_rate between hosts.
void Fabric::limit(Route& route, const std::string& name, BytesPerSecond rate, sg4::NetZone* zone) const {
  if (rate.value <= 0) return;
  const auto capacity = static_cast<double>(rate.value);
  route.engine = zone->create_link(name, capacity)->set_latency(0)->seal();
  route.bandwidth = std::min(route.bandwidth, capacity);
}

void Fabric::add_link(const LinkSpec& spec, sg4::NetZone* zone, bool unlimited) {
  const auto direction = [&](const char* name, BytesPerSecond rate, BytesPerSecond duplex) {
    auto d = std::make_unique<LinkDirection>();
    d->index = static_cast<int>(directions_.size());
    d->name = spec.name + " " + name;
    d->kind = spec.kind;
    d->capacity = d->set_to = static_cast<double>(rate.value);
    d->duplex_capacity = duplex.value > 0 ? static_cast<double>(duplex.value) : d->capacity;
    d->efficiency = &spec.sharing_efficiency;
    // Latency is a cost of the copy engine: a link with latency would share unequally.
    d->link = zone->create_link(spec.name + "." + name, d->capacity)->set_latency(0);
    if (unlimited) d->link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    d->link->seal();
    directions_.push_back(std::move(d));
    return directions_.back().get();
  };
  LinkDirection* down = direction("down", spec.down, spec.down_duplex);
  LinkDirection* up = direction("up", spec.up, spec.up_duplex);
  if (!unlimited) {
    down->opposite = up;
    up->opposite = down;
    if (spec.both.value > 0)
      down->both = up->both =
          zone->create_link(spec.name + ".both", static_cast<double>(spec.both.value))->set_latency(0)->seal();
    down->both_capacity = up->both_capacity = static_cast<double>(spec.both.value);
  }
  graph_.push_back({spec.from, spec.to, spec.kind, down});
  graph_.push_back({spec.to, spec.from, spec.kind, up});
}

bool Fabric::has_nvlink(int a, int b) const { return nvlinked_.contains({a, b}); }

bool Fabric::peers(int a, int b) const {
  if (peer_access_ == "none") return false;
  if (has_nvlink(a, b) || peer_access_ == "any") return true;
  return peer_access_ == "socket" &&
         std::ranges::none_of(between(a, b).hops, [](const LinkDirection* d) { return d->kind == "socket"; });
}

// Fewest hops; ties go to the link declared first. NVLinks and their switches alone, or no NVLink; empty: there is no
// such path.
std::vector<LinkDirection*> Fabric::path(const std::string& from, const std::string& to, bool nvlink) const {
  std::map<std::string, const Hop*> reached_by{{from, nullptr}};
  std::deque<std::string> frontier{from};
  while (!frontier.empty() && !reached_by.contains(to)) {
    const std::string node = frontier.front();
    frontier.pop_front();
    const bool forwards = node.starts_with("switch") || (node.starts_with("socket") && !nvlink);
    if (node != from && !forwards) continue;
    for (const Hop& hop : graph_) {
      if (hop.from != node || (hop.kind == "nvlink") != nvlink || reached_by.contains(hop.to)) continue;
      reached_by[hop.to] = &hop;
      frontier.push_back(hop.to);
    }
  }
  std::vector<LinkDirection*> hops;
  if (!reached_by.contains(to)) return hops;
  for (const Hop* hop = reached_by[to]; hop != nullptr; hop = reached_by[hop->from])
    hops.insert(hops.begin(), hop->direction);
  return hops;
}

Route Fabric::find_route(const std::string& from, const std::string& to, bool nvlink) const {
  Route route{nodes_.at(from), nodes_.at(to), path(from, to, nvlink), nullptr, 0};
  UVMSIM_CHECK(!route.hops.empty(), "the links of a machine connect its nodes");
  route.bandwidth = route.hops.front()->capacity;
  for (const LinkDirection* d : route.hops) route.bandwidth = std::min(route.bandwidth, d->capacity);
  return route;
}

std::string Fabric::nearest_memory(const std::string& gpu) const {
  std::string best;
  std::size_t hops = 0;
  for (const auto& [name, host] : nodes_) {
    if (!name.starts_with("memory")) continue;
    const std::size_t distance = find_route(name, gpu, false).hops.size();
    if (best.empty() || distance < hops) {
      best = name;
      hops = distance;
    }
  }
  UVMSIM_CHECK(!best.empty(), "a machine has host memory");
  return best;
}

void Fabric::register_route(sg4::NetZone* zone, const Route& route) const {
  std::vector<sg4::LinkInRoute> links;
  for (const LinkDirection* d : route.hops) {
    links.emplace_back(d->link);
    if (d->both != nullptr) links.emplace_back(d->both);
  }
  if (route.engine != nullptr) links.emplace_back(route.engine);
  zone->add_route(route.from->get_netpoint(), route.to->get_netpoint(), nullptr, nullptr, links, false);
}

void Fabric::adjust(LinkDirection& d) {
  double capacity = d.opposite != nullptr && d.opposite->flows > 0 ? d.duplex_capacity : d.capacity;
  if (d.flows > 0 && !d.efficiency->empty())
    capacity *= (*d.efficiency)[std::min(static_cast<std::size_t>(d.flows), d.efficiency->size()) - 1];
  set_capacity(d, capacity);
}

void Fabric::set_capacity(LinkDirection& d, double capacity) {
  if (capacity == d.set_to) return;
  d.set_to = capacity;
  d.link->set_bandwidth(capacity);
}

void Fabric::adjust_along(const Route& route) {
  for (LinkDirection* d : route.hops) {
    adjust(*d);
    if (d->opposite != nullptr) adjust(*d->opposite);
  }
}

// To be called before the number of flows or the capacity changes.
void Fabric::account(LinkDirection& d, Time at) {
  double share = d.set_to / std::max(d.flows, 1);
  if (d.both != nullptr) share = std::min(share, d.both_capacity / std::max(d.flows + d.opposite->flows, 1));
  d.carried += share * seconds(at - d.carried_at);
  d.carried_at = at;
}

void Fabric::account_along(const Route& route, Time at) {
  for (LinkDirection* d : route.hops) {
    account(*d, at);
    if (d->opposite != nullptr) account(*d->opposite, at);
  }
}

Duration Fabric::transfer(const Route& route, Bytes size) {
  if (size.value <= 0) return Duration{0};
  const Time start = now();
  account_along(route, start);
  std::vector<double> carried;
  for (LinkDirection* d : route.hops) {
    carried.push_back(d->carried);
    if (d->flows++ == 0) d->busy_since = d->flowing_since = start;
    // SimGrid never lets a flow go faster than its links could when it started: they are at their best then.
    set_capacity(*d, d->capacity);
  }
  auto comm = sg4::Comm::sendto_init();
  comm->set_payload_size(static_cast<std::uint64_t>(size.value));
  comm->set_source(route.from)->set_destination(route.to);  // the last of these starts it
  adjust_along(route);
  comm->wait();
  const Time end = now();
  account_along(route, end);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = route.hops[i]->carried - carried[i];
  for (LinkDirection* d : route.hops) {
    d->bytes += size.value;
    if (--d->flows == 0) d->busy += end - d->busy_since;
  }
  const Duration alone = from_seconds(static_cast<double>(size.value) / route.bandwidth);
  const Duration excess = std::max(Duration{0}, end - start - alone);
  if (excess > nanoseconds(1))  // less is the rounding of SimGrid's clock
    route.hops[static_cast<std::size_t>(std::ranges::min_element(carried) - carried.begin())]->contention += excess;
  if (observer_ != nullptr) tell(route, start, end, size);
  adjust_along(route);
  return excess;
}

void Fabric::watch(Observer& observer) {
  observer_ = &observer;
  for (const auto& d : directions_)
    observer.link_opened({d->index, d->name, BytesPerSecond{static_cast<std::int64_t>(d->capacity)}});
}

void Fabric::tell(const Route& route, Time start, Time end, Bytes size) {
  for (const LinkDirection* d : route.hops) {
    observer_->transfer({d->index, start, end, size});
    if (d->flows == 0) observer_->link_busy(d->index, d->flowing_since, end);
  }
}

std::vector<LinkDirectionResult> Fabric::usage(Time since, Time until) const {
  std::vector<LinkDirectionResult> result;
  for (const auto& d : directions_) {
    const Duration busy = d->busy + (d->flows > 0 ? until - std::max(d->busy_since, since) : Duration{0});
    result.push_back({d->name, d->bytes, until > since ? seconds(busy) / seconds(until - since) : 0, d->capacity,
                      seconds(d->contention)});
  }
  return result;
}

void Fabric::reset_usage(Time at) {
  for (const auto& d : directions_) {
    d->bytes = 0;
    d->busy = d->contention = Duration{0};
    d->busy_since = at;
  }
}

}  // namespace uvmsim
