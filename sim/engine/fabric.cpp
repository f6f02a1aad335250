#include "engine/fabric.h"

#include <algorithm>

#include "base/check.h"
#include "engine/clock.h"
#include "machine/memory_nodes.h"

namespace uvmsim {

namespace {

bool ends_paths(const std::string& node) {
  return is_node_of(node, LinkNode::Kind::Gpu) || is_node_of(node, LinkNode::Kind::Memory);
}

Route route_between(int from, int to, std::vector<LinkDirection*> hops) {
  UVMSIM_CHECK(!hops.empty(), "the links of a machine connect its nodes");
  Route route{.from = from, .to = to, .hops = std::move(hops)};
  route.bandwidth = route.hops.front()->capacity;
  for (const LinkDirection* d : route.hops) route.bandwidth = std::min(route.bandwidth, d->capacity);
  return route;
}

}  // namespace

Fabric::Fabric(const Machine& machine, bool unlimited)
    : network_(make_network()), flows_(network_), peer_access_(machine.peer_access) {
  for (const LinkSpec& spec : machine.links) add_link(spec, unlimited);
  for (const LinkSpec& spec : machine.links)
    for (const std::string& node : {spec.from, spec.to})
      if (ends_paths(node) && !nodes_.contains(node)) nodes_[node] = network_.add_host(node);
  for (const GpuIndex g : machine.gpus.indices()) add_gpu(machine, g);
  for (const GpuIndex a : machine.gpus.indices()) {
    for (const GpuIndex b : machine.gpus.indices()) {
      if (a == b) continue;
      if (!nvlink_path(machine.links, gpu_node(a), gpu_node(b)).empty()) nvlinked_.insert({a, b});
      between_[{a, b}] = route_between(nodes_.at(gpu_node(a)), nodes_.at(gpu_node(b)),
                                       along(machine, copy_path(machine.links, gpu_node(a), gpu_node(b))));
      register_route(between_[{a, b}]);
    }
  }
  for (int node = 0; node < static_cast<int>(machine.memories.size()); ++node) add_memory(machine, node, unlimited);
}

void Fabric::add_gpu(const Machine& machine, GpuIndex index) {
  const GpuSpec& gpu = machine.gpus[index];
  const std::string name = gpu_node(index);
  const std::string memory = managed_memory(machine, index);
  UVMSIM_CHECK(!memory.empty(), "every GPU of a machine reaches host memory");
  to_gpu_.push_back(
      route_between(nodes_.at(memory), nodes_.at(name), along(machine, host_path(machine.links, memory, name))));
  from_gpu_.push_back(
      route_between(nodes_.at(name), nodes_.at(memory), along(machine, host_path(machine.links, name, memory))));
  // There is one route for two hosts: the same path at another rate ends at a host of its own.
  const int bulk = network_.add_host(name + ".bulk");
  bulk_to_gpu_.push_back(to_gpu_.back());
  bulk_to_gpu_.back().to = bulk;
  bulk_from_gpu_.push_back(from_gpu_.back());
  bulk_from_gpu_.back().from = bulk;
  const int sms = network_.add_host(name + ".sms");
  remote_to_gpu_.push_back(to_gpu_.back());
  remote_to_gpu_.back().to = sms;
  remote_from_gpu_.push_back(from_gpu_.back());
  remote_from_gpu_.back().from = sms;
  limit(to_gpu_.back(), name + ".h2d", gpu.copy.h2d_bandwidth);
  limit(from_gpu_.back(), name + ".d2h", gpu.copy.d2h_bandwidth);
  limit(remote_to_gpu_.back(), name + ".remote_read", gpu.remote_bandwidth);
  limit(remote_from_gpu_.back(), name + ".remote_write", gpu.remote_bandwidth);
  for (const auto* routes : {&to_gpu_, &from_gpu_, &bulk_to_gpu_, &bulk_from_gpu_, &remote_to_gpu_, &remote_from_gpu_})
    register_route(routes->back());
}

void Fabric::add_memory(const Machine& machine, int index, bool unlimited) {
  const MemoryNode& memory = machine.memories[static_cast<std::size_t>(index)];
  const auto own = [&](const char* direction, BytesPerSecond rate) {
    return rate.value > 0 ? add_direction(memory.name, direction, memory.kind, rate, unlimited) : nullptr;
  };
  LinkDirection* read = own("read", memory.read);
  LinkDirection* write = own("write", memory.write);
  const int host = network_.add_host("memory node " + memory.name);
  Slots* queue = nullptr;
  if (!unlimited && memory.queue_depth > 0)
    queue = queues_.emplace_back(std::make_unique<Slots>(memory.queue_depth)).get();
  to_memory_.emplace_back(machine.gpus.size());
  from_memory_.emplace_back(machine.gpus.size());
  for (const GpuIndex gpu : machine.gpus.indices()) {
    if (memory.node == gpu_node(gpu)) continue;
    std::vector<LinkDirection*> out = along(machine, path_to_memory(machine, gpu, index));
    std::vector<LinkDirection*> in = along(machine, path_from_memory(machine, gpu, index));
    if (write != nullptr) out.push_back(write);
    if (read != nullptr) in.insert(in.begin(), read);
    const int bulk = bulk_to_gpu(gpu).to;
    Route& to = to_memory_.back()[gpu];
    Route& from = from_memory_.back()[gpu];
    to = route_between(bulk, host, std::move(out));
    from = route_between(host, bulk, std::move(in));
    to.queue = from.queue = queue;
    for (const Route* route : {&to, &from}) register_route(*route);
  }
}

const Route& Fabric::memory_route(const MemoryRoutes& routes, GpuIndex gpu, int node) {
  const Route& route = routes.at(static_cast<std::size_t>(node)).at(gpu);
  UVMSIM_CHECK(route.from >= 0, "a GPU's own memory is no memory node for it");
  return route;
}

// A rate is a link of its own at the end of the route: SimGrid ignores Comm::set_rate between hosts.
void Fabric::limit(Route& route, const std::string& name, BytesPerSecond rate) {
  if (rate.value <= 0) return;
  const auto capacity = static_cast<double>(rate.value);
  route.mover = movers_.emplace_back(std::make_unique<MoverRate>()).get();
  route.mover->link = network_.add_link(name, capacity, true);
  route.bandwidth = std::min(route.bandwidth, capacity);
}

LinkDirection* Fabric::add_direction(const std::string& name, const std::string& direction, const std::string& kind,
                                     BytesPerSecond rate, bool unlimited) {
  auto d = std::make_unique<LinkDirection>();
  d->index = static_cast<int>(directions_.size());
  d->name = name + " " + direction;
  d->kind = kind;
  d->capacity = d->duplex_capacity = d->has = d->told = static_cast<double>(rate.value);
  d->unlimited = unlimited;
  d->link = network_.add_link(name + "." + direction, d->capacity, !unlimited);  // latency is a cost of the copy engine
  directions_.push_back(std::move(d));
  return directions_.back().get();
}

void Fabric::add_link(const LinkSpec& spec, bool unlimited) {
  LinkDirection* down = add_direction(spec.name, "down", spec.kind, spec.down, unlimited);
  LinkDirection* up = add_direction(spec.name, "up", spec.kind, spec.up, unlimited);
  if (spec.down_duplex.value > 0) down->duplex_capacity = static_cast<double>(spec.down_duplex.value);
  if (spec.up_duplex.value > 0) up->duplex_capacity = static_cast<double>(spec.up_duplex.value);
  down->efficiency = up->efficiency = spec.sharing_efficiency;
  if (unlimited) return;
  down->opposite = up;
  up->opposite = down;
  if (spec.both.value > 0)
    down->both = up->both = network_.add_link(spec.name + ".both", static_cast<double>(spec.both.value), true);
  down->both_capacity = up->both_capacity = static_cast<double>(spec.both.value);
}

std::vector<LinkDirection*> Fabric::along(const Machine& machine, const LinkPath& path) const {
  std::vector<LinkDirection*> hops;
  for (const LinkHop& hop : path) {
    const auto link = static_cast<std::size_t>(hop.link - machine.links.data());
    hops.push_back(directions_[2 * link + (hop.down ? 0 : 1)].get());
  }
  return hops;
}

bool Fabric::has_nvlink(GpuIndex a, GpuIndex b) const { return nvlinked_.contains({a, b}); }

bool Fabric::peers(GpuIndex a, GpuIndex b) const {
  if (peer_access_ == "none") return false;
  if (has_nvlink(a, b) || peer_access_ == "any") return true;
  return peer_access_ == "socket" &&
         std::ranges::none_of(between(a, b).hops, [](const LinkDirection* d) { return d->kind == "socket"; });
}

void Fabric::register_route(const Route& route) {
  std::vector<int> links;
  for (const LinkDirection* d : route.hops) {
    links.push_back(d->link);
    if (d->both) links.push_back(*d->both);
  }
  if (route.mover != nullptr) links.push_back(route.mover->link);
  network_.add_route(route.from, route.to, links);
}

Duration Fabric::transfer(const Route& route, Bytes size) {
  if (size.value <= 0) return Duration{0};
  const Time asked = now();
  if (route.queue != nullptr) route.queue->acquire();
  const Time start = now();
  for (LinkDirection* d : route.hops)
    if (d->flows == 0) d->busy_since = d->flowing_since = start;
  const Flows::Shares carried = flows_.move(route, size);
  const Time end = now();
  for (LinkDirection* d : route.hops) {
    d->bytes += size.value;
    if (d->flows == 0) d->busy += end - d->busy_since;
  }
  if (route.queue != nullptr) route.queue->release();
  const Duration alone = from_seconds(static_cast<double>(size.value) / route.bandwidth);
  const Duration excess = std::max(Duration{0}, end - start - alone);
  if (excess > nanoseconds(1))  // less is the rounding of SimGrid's clock
    route.hops[static_cast<std::size_t>(std::ranges::min_element(carried) - carried.begin())]->contention += excess;
  if (observer_ != nullptr) tell(route, start, end, size);
  return excess + (start - asked);
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
