#include "engine/collective.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "engine/coordination.h"

namespace uvmsim {
namespace {

// What each ring link carries, as a share of the collective's bytes.
double share_of(trace::Collective kind, double ranks) {
  using trace::Collective;
  switch (kind) {
    case Collective::AllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (ranks - 1) / ranks;
    default:
      return 1;
  }
}

}  // namespace

void CollectiveRendezvous::join(const op::Collective& collective, GpuIndex gpu) {
  std::vector<GpuIndex>& gpus = members_[id_of(collective)];
  if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
}

void CollectiveRendezvous::form_rings() {
  for (auto& [id, gpus] : members_) {
    std::ranges::sort(gpus);
    const std::size_t ranks = id.ranks == 0 ? gpus.size() : static_cast<std::size_t>(id.ranks);
    for (std::size_t first = 0; first < gpus.size(); first += ranks) {
      auto& ring = rings_[id].emplace_back(std::make_unique<Ring>("communicator " + std::to_string(id.communicator) +
                                                                  " of GPU " + std::to_string(gpus[first].value) +
                                                                  (gpus.size() - first > 1 ? " and others" : "")));
      ring->gpus = {gpus.begin() + static_cast<std::ptrdiff_t>(first),
                    gpus.begin() + static_cast<std::ptrdiff_t>(std::min(first + ranks, gpus.size()))};
      order(ring->gpus);
      for (const GpuIndex gpu : ring->gpus) ring->issued[gpu] = ring->done[gpu] = 0;
    }
  }
}

CollectiveRendezvous::Ring& CollectiveRendezvous::ring_of(const op::Collective& collective, GpuIndex gpu) {
  for (const auto& ring : rings_.at(id_of(collective)))
    if (ring->done.contains(gpu)) return *ring;
  UVMSIM_CHECK(false, "a GPU takes part only in communicators it joined");
  std::abort();
}

// A ring over NVLink when there is one, else in order of index.
void CollectiveRendezvous::order(std::vector<GpuIndex>& ring) const {
  std::vector<GpuIndex> path{ring.front()};
  if (ring.size() > 2 && extend(path, ring)) ring = path;
}

bool CollectiveRendezvous::extend(std::vector<GpuIndex>& path, const std::vector<GpuIndex>& gpus) const {
  if (path.size() == gpus.size()) return fabric_.has_nvlink(path.back(), path.front());
  for (const GpuIndex gpu : gpus) {
    if (std::ranges::find(path, gpu) != path.end() || !fabric_.has_nvlink(path.back(), gpu)) continue;
    path.push_back(gpu);
    if (extend(path, gpus)) return true;
    path.pop_back();
  }
  return false;
}

std::int64_t CollectiveRendezvous::issue(const op::Collective& collective, GpuIndex gpu) {
  return ring_of(collective, gpu).issued.at(gpu)++;
}

void CollectiveRendezvous::run(const op::Collective& collective, GpuIndex gpu, std::int64_t number) {
  Ring& ring = ring_of(collective, gpu);
  std::int64_t& done = ring.done.at(gpu);
  while (done < number) ring.turn.wait();
  // In an all-to-all, ranks may send different amounts.
  const std::int64_t agreed = collective.kind == trace::Collective::AllToAll ? 0 : collective.bytes;
  meet(ring, {number, 0, collective.kind, agreed});
  if (ring.gpus.size() > 1) {
    const auto here = std::ranges::find(ring.gpus, gpu);
    const double share = share_of(collective.kind, static_cast<double>(ring.gpus.size()));
    pass(gpu, here + 1 == ring.gpus.end() ? ring.gpus.front() : *(here + 1),
         Bytes{static_cast<std::int64_t>(static_cast<double>(collective.bytes) * share)});
  }
  meet(ring, {number, 1, collective.kind, agreed});
  ++done;
  ring.turn.notify_all();
}

// Who is past a place is past all before it.
void CollectiveRendezvous::meet(Ring& ring, const Place& place) {
  if (++ring.arrived[place] == ring.gpus.size()) {
    ring.arrived.erase(ring.arrived.begin(), ring.arrived.find(place));
    return ring.others.notify_all();
  }
  while (ring.arrived.at(place) < ring.gpus.size()) ring.others.wait();
}

// There is no deadlock by a coordinator: a transfer asks once all ranks are there, holds no link while it waits, and
// when it has begun it ends without waiting for another one, as copies of plans do. So those under way end, and then a
// coordinator must let one of those that wait begin (tests/contract/plan).
void CollectiveRendezvous::pass(GpuIndex from, GpuIndex to, Bytes size) {
  const Route& route = fabric_.between(from, to);
  const bool asks = coordination_ != nullptr && coordination_->coordinates_collectives();
  std::int64_t number = 0;
  if (asks) number = coordination_->enter({.gpu = from, .out = true, .bytes = size, .awaited = true, .peer = to}, -1);
  fabric_.transfer(route, size);
  if (asks) coordination_->leave(number);
}

}  // namespace uvmsim
