// The free CTA slots of a GPU, the one that has been free for longest first.
#pragma once

#include <cstdint>

#include "gpu/cta_runs.h"
#include "gpu/ring.h"

namespace uvmsim {

// Which slot of a µTLB group is free does not matter: runs of slots of a group.
class FreeSlots {
 public:
  // All slots [0, slots) are free: one of each SM, then the next one of each. SM s belongs to group s mod groups.
  void reset(std::int64_t sms, std::int64_t groups, std::int64_t slots) {
    queue_.clear();
    for (std::int64_t slot = 0; slot < slots; ++slot) add({1, static_cast<std::uint16_t>(slot % sms % groups)});
  }
  void add(const SlotRun& run) {
    if (queue_.empty() || !queue_.back().join(run)) queue_.push(run);
  }
  // Not empty: the run of those free for longest.
  const SlotRun& front() const { return queue_.front(); }
  // Takes `n` of that run; returns its group.
  std::uint16_t take(std::int64_t n = 1) {
    SlotRun& run = queue_.front();
    const std::uint16_t group = run.group;
    run.drop_first(n);
    if (run.count == 0) queue_.pop();
    return group;
  }
  bool empty() const { return queue_.empty(); }
  bool same_as(const FreeSlots& other) const {
    if (queue_.size() != other.queue_.size()) return false;
    for (std::size_t i = 0; i < queue_.size(); ++i)
      if (queue_[i].group != other.queue_[i].group || queue_[i].count != other.queue_[i].count) return false;
    return true;
  }

 private:
  Ring<SlotRun> queue_;
};

}  // namespace uvmsim
