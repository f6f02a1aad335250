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

Fabric::Fabric(const Machine& machine, bool unlimited) {
  sg4::NetZone* zone = sg4::create_full_zone("machine");
  for (const LinkSpec& spec : machine.links) add_link(spec, zone, unlimited);
  for (const Hop& hop : graph_)
    if (ends_there(hop.from) && !nodes_.contains(hop.from)) nodes_[hop.from] = zone->create_host(hop.from, 1e9)->seal();
  const int gpus = static_cast<int>(machine.gpus.size());
  for (int g = 0; g < gpus; ++g) {
    UVMSIM_CHECK(nodes_.contains(gpu_name(g)), "every GPU of a machine has a link");
    const std::string memory = nearest_memory(gpu_name(g));
    to_gpu_.push_back(find_route(memory, gpu_name(g), false));
    from_gpu_.push_back(find_route(gpu_name(g), memory, false));
    register_route(zone, to_gpu_.back());
    register_route(zone, from_gpu_.back());
  }
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      if (a == b) continue;
      between_[{a, b}] = find_route(gpu_name(a), gpu_name(b), has_nvlink(a, b));
      register_route(zone, between_[{a, b}]);
    }
  }
  zone->seal();
}

void Fabric::add_link(const LinkSpec& spec, sg4::NetZone* zone, bool unlimited) {
  const auto direction = [&](const char* name, BytesPerSecond rate, BytesPerSecond duplex) {
    auto d = std::make_unique<LinkDirection>();
    d->name = spec.name + " " + name;
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
  }
  graph_.push_back({spec.from, spec.to, spec.kind, down});
  graph_.push_back({spec.to, spec.from, spec.kind, up});
}

bool Fabric::has_nvlink(int a, int b) const {
  return std::ranges::any_of(
      graph_, [&](const Hop& h) { return h.kind == "nvlink" && h.from == gpu_name(a) && h.to == gpu_name(b); });
}

// Fewest hops; ties go to the link declared first.
Route Fabric::find_route(const std::string& from, const std::string& to, bool nvlink) const {
  std::map<std::string, const Hop*> reached_by{{from, nullptr}};
  std::deque<std::string> frontier{from};
  while (!frontier.empty() && !reached_by.contains(to)) {
    const std::string node = frontier.front();
    frontier.pop_front();
    for (const Hop& hop : graph_) {
      if (hop.from != node || (hop.kind == "nvlink") != nvlink || reached_by.contains(hop.to)) continue;
      reached_by[hop.to] = &hop;
      frontier.push_back(hop.to);
    }
  }
  UVMSIM_CHECK(reached_by.contains(to), "the links of a machine connect its nodes");
  Route route{nodes_.at(from), nodes_.at(to), {}, 0};
  for (const Hop* hop = reached_by[to]; hop != nullptr; hop = reached_by[hop->from])
    route.hops.insert(route.hops.begin(), hop->direction);
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
  for (const LinkDirection* d : route.hops) links.emplace_back(d->link);
  zone->add_route(route.from->get_netpoint(), route.to->get_netpoint(), nullptr, nullptr, links, false);
}

void Fabric::adjust(LinkDirection& d) {
  double capacity = d.opposite != nullptr && d.opposite->flows > 0 ? d.duplex_capacity : d.capacity;
  if (d.flows > 0 && !d.efficiency->empty())
    capacity *= (*d.efficiency)[std::min(static_cast<std::size_t>(d.flows), d.efficiency->size()) - 1];
  if (capacity == d.set_to) return;
  d.set_to = capacity;
  d.link->set_bandwidth(capacity);
}

Duration Fabric::transfer(const Route& route, Bytes size, BytesPerSecond cap) {
  if (size.value <= 0) return Duration{0};
  const Time start = now();
  const auto flows_change = [&](int by, Time t) {
    for (LinkDirection* d : route.hops) {
      if (d->flows == 0) d->busy_since = t;
      d->flows += by;
      if (d->flows == 0) d->busy += t - d->busy_since;
      adjust(*d);
      if (d->opposite != nullptr) adjust(*d->opposite);
    }
  };
  flows_change(+1, start);
  auto comm = sg4::Comm::sendto_init();
  if (cap.value > 0) comm->set_rate(static_cast<double>(cap.value));
  comm->set_payload_size(static_cast<std::uint64_t>(size.value));
  comm->set_source(route.from)->set_destination(route.to);  // the last of these starts it
  comm->wait();
  const Time end = now();
  for (LinkDirection* d : route.hops) d->bytes += size.value;
  flows_change(-1, end);
  const double alone = cap.value > 0 ? std::min(route.bandwidth, static_cast<double>(cap.value)) : route.bandwidth;
  return std::max(Duration{0}, end - start - from_seconds(static_cast<double>(size.value) / alone));
}

std::vector<LinkDirectionResult> Fabric::usage(Time since, Time until) const {
  std::vector<LinkDirectionResult> result;
  for (const auto& d : directions_) {
    const Duration busy = d->busy + (d->flows > 0 ? until - std::max(d->busy_since, since) : Duration{0});
    result.push_back({d->name, d->bytes, until > since ? seconds(busy) / seconds(until - since) : 0, d->capacity});
  }
  return result;
}

void Fabric::reset_usage(Time at) {
  for (const auto& d : directions_) {
    d->bytes = 0;
    d->busy = Duration{0};
    d->busy_since = at;
  }
}

}  // namespace uvmsim
