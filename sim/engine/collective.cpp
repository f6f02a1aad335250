#include "engine/collective.h"

#include <algorithm>

#include "base/check.h"

namespace uvmsim {

void CollectiveRendezvous::join(int communicator, int gpu) {
  Communicator& c = communicators_[communicator];
  if (!c.all_here) c.all_here = std::make_unique<WaitList>("the other ranks of a collective");
  if (std::ranges::find(c.ring, gpu) == c.ring.end()) c.ring.push_back(gpu);
  std::ranges::sort(c.ring);
  order_ring(c);
}

int CollectiveRendezvous::ranks(int communicator) const {
  const auto it = communicators_.find(communicator);
  return it == communicators_.end() ? 1 : static_cast<int>(it->second.ring.size());
}

// A ring over NVLink when there is one, else in order of index.
void CollectiveRendezvous::order_ring(Communicator& c) const {
  std::vector<int> path{c.ring.front()};
  if (c.ring.size() > 2 && extend(path, c.ring)) c.ring = path;
}

bool CollectiveRendezvous::extend(std::vector<int>& path, const std::vector<int>& gpus) const {
  if (path.size() == gpus.size()) return fabric_.has_nvlink(path.back(), path.front());
  for (const int gpu : gpus) {
    if (std::ranges::find(path, gpu) != path.end() || !fabric_.has_nvlink(path.back(), gpu)) continue;
    path.push_back(gpu);
    if (extend(path, gpus)) return true;
    path.pop_back();
  }
  return false;
}

void CollectiveRendezvous::run(int communicator, int gpu, Bytes size, double share) {
  Communicator& c = communicators_.at(communicator);
  const auto here = std::ranges::find(c.ring, gpu);
  UVMSIM_CHECK(here != c.ring.end(), "a GPU takes part only in communicators it joined");
  const auto meet = [&c] {
    const std::int64_t round = c.round;
    if (++c.arrived == static_cast<int>(c.ring.size())) {
      c.arrived = 0;
      ++c.round;
      c.all_here->notify_all();
    }
    while (c.round == round) c.all_here->wait();
  };
  meet();
  if (c.ring.size() > 1) {
    const int next = here + 1 == c.ring.end() ? c.ring.front() : *(here + 1);
    fabric_.transfer(fabric_.between(gpu, next),
                     Bytes{static_cast<std::int64_t>(static_cast<double>(size.value) * share)});
  }
  meet();
}

}  // namespace uvmsim
