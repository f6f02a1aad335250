#include "engine/collective.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "engine/clock.h"
#include "engine/coordination.h"
#include "trace/communicators.h"

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
    std::map<std::int64_t, std::vector<GpuIndex>> groups;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      groups[trace::group_of(static_cast<std::int64_t>(i), id.ranks, id.stride)].push_back(gpus[i]);
    for (auto& [number, group] : groups) {
      const std::string of = "GPU " + std::to_string(group.front().value) + (group.size() > 1 ? " and others" : "");
      auto& ring = rings_[id].emplace_back(
          std::make_unique<Ring>("communicator " + std::to_string(id.communicator) + " of " + of));
      ring->gpus = std::move(group);
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

std::int64_t CollectiveRendezvous::issue(const op::Collective& collective, GpuIndex gpu, std::int64_t needed_by) {
  Ring& ring = ring_of(collective, gpu);
  const std::int64_t number = ring.issued.at(gpu)++;
  if (needed_by >= 0) ring.needed_by[{gpu, number}] = needed_by;
  return number;
}

void CollectiveRendezvous::run(const op::Collective& collective, GpuIndex gpu, std::int64_t number, bool followed) {
  Ring& ring = ring_of(collective, gpu);
  std::int64_t& done = ring.done.at(gpu);
  while (done < number) ring.turn.wait();
  // In an all-to-all, ranks may send different amounts.
  const std::int64_t agreed = collective.kind == trace::Collective::AllToAll ? 0 : collective.bytes;
  meet(ring, {number, 0, collective.kind, agreed});
  const bool in_turn = collective.priority >= 0;
  const bool congested = in_turn && take_turn(ring, collective.priority);
  if (ring.gpus.size() > 1) {
    const auto here = std::ranges::find(ring.gpus, gpu);
    const auto needed_by = ring.needed_by.extract({gpu, number});
    pass({.from = gpu,
          .to = here + 1 == ring.gpus.end() ? ring.gpus.front() : *(here + 1),
          .share = share_of(collective.kind, static_cast<double>(ring.gpus.size())),
          .needed_by = needed_by ? needed_by.mapped() : -1},
         collective.bytes - (congested ? collective.droppable : 0));
  } else if (collective.ranks != 1) {
    sleep_until(now() + collective.recorded);  // the other ranks are not simulated
  }
  meet(ring, {number, 1, collective.kind, agreed});
  if (in_turn) end_turn(ring, followed);
  ++done;
  ring.turn.notify_all();
}

// --- turns

// Blocks until it is the turn of the ring's collective. Whether others were before it or wait for theirs.
bool CollectiveRendezvous::take_turn(const Ring& ring, std::int32_t priority) {
  Turns& turns = turns_[ring.gpus];
  const auto same = [&](const Turns::Place& place) { return place.ring == &ring; };
  if (turns.current != &ring && std::ranges::none_of(turns.waiting, same)) {
    turns.waiting.insert({priority, turns.came++, &ring});
    if (turns.expected == &ring) turns.expected = nullptr;
    give_turn(turns);
  }
  bool others = false;
  for (; turns.current != &ring; others = true) turns.next->wait();
  return others || !turns.waiting.empty();
}

// A ring whose ranks all have a next one comes back at once: nothing but its streams is in between.
void CollectiveRendezvous::end_turn(const Ring& ring, bool followed) {
  Turns& turns = turns_[ring.gpus];
  turns.followed += followed ? 1 : 0;
  if (++turns.left < ring.gpus.size()) return;
  if (turns.followed == ring.gpus.size()) turns.expected = &ring;
  turns.current = nullptr;
  turns.left = turns.followed = 0;
  give_turn(turns);
}

void CollectiveRendezvous::give_turn(Turns& turns) {
  if (turns.current != nullptr || turns.expected != nullptr || turns.waiting.empty()) return;
  turns.current = turns.waiting.begin()->ring;
  turns.waiting.erase(turns.waiting.begin());
  turns.next->notify_all();
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
void CollectiveRendezvous::pass(const Part& part, std::int64_t bytes) {
  const Bytes size{static_cast<std::int64_t>(static_cast<double>(bytes) * part.share)};
  const Route& route = fabric_.between(part.from, part.to);
  const bool asks = coordination_ != nullptr && coordination_->coordinates_collectives();
  std::int64_t number = 0;
  if (asks)
    number = coordination_->enter(
        {.gpu = part.from, .out = true, .bytes = size, .awaited = part.needed_by < 0, .peer = part.to}, part.needed_by);
  fabric_.transfer(route, size);
  if (asks) coordination_->leave(number);
}

}  // namespace uvmsim
