#include "engine/coordination.h"

#include <algorithm>

#include "engine/clock.h"

namespace uvmsim {

Coordination::Coordination(std::unique_ptr<Coordinator> coordinator,
                           IndexedVector<GpuIndex, std::unique_ptr<GpuDevice>>& gpus)
    : coordinator_(std::move(coordinator)), gpus_(gpus), changed_("a shared link, as the coordinator says") {}

std::int64_t Coordination::enter(SwapCopy copy, std::int64_t needed_by) {
  const std::int64_t number = copy.number = copies_++;
  ready_.emplace(number, Ready{copy, needed_by});
  changed();
  for (Time at = when(number); at > now(); at = when(number)) {
    if (at == kNever)
      changed_.wait();
    else
      sleep_until(at);
  }
  under_way_.push_back(ready_.at(number).copy);
  ready_.erase(number);
  changed();
  return number;
}

void Coordination::leave(std::int64_t number) {
  std::erase_if(under_way_, [number](const SwapCopy& c) { return c.number == number; });
  changed();
}

// All that wait ask again, by the same figures: if each found another one first by figures of its own, none would
// start.
void Coordination::changed() {
  for (auto& [number, r] : ready_) {
    const std::int64_t done = gpus_[r.copy.gpu]->counts().kernels;
    if (r.needed_by >= 0) r.copy.until_use = std::max<std::int64_t>(0, r.needed_by - done);
  }
  changed_.notify_all();
}

Time Coordination::when(std::int64_t number) const {
  std::vector<SwapCopy> waiting;
  for (const auto& [n, r] : ready_) waiting.push_back(r.copy);
  return coordinator_->admit(ready_.at(number).copy, waiting, under_way_, now());
}

void Coordination::reach(GpuIndex gpu, std::int64_t iteration, Moment moment, std::vector<StreamPoint> points) {
  const auto tell = [this, gpu, iteration, moment] {
    coordinator_->reached(gpu, iteration, moment);
    grant();
  };
  if (std::ranges::all_of(points, &StreamPoint::reached)) return tell();
  scheduler().spawn("turn of gpu" + std::to_string(gpu.value), [points = std::move(points), tell] {
    for (const StreamPoint& point : points) point.wait();
    tell();
  });
}

void Coordination::grant() {
  for (const auto& [gpu, turn] : turns_) {
    bool granted = false;
    while (turn->completed < turn->recorded && coordinator_->may_begin(gpu, turn->completed)) {
      ++turn->completed;
      granted = true;
    }
    if (granted) turn->completed_changed.notify_all();
  }
}

}  // namespace uvmsim
