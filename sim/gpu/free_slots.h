// The free CTA slots of a GPU, the one that has been free for longest first.
#pragma once

#include <cstdint>

#include "gpu/ring.h"

namespace uvmsim {

// Slot s belongs to SM s mod SMs.
class FreeSlots {
 public:
  // All slots [0, slots) are free: one of each SM, then the next one of each.
  void reset(std::uint32_t sms, std::uint32_t slots) {
    sms_ = sms;
    queue_.clear();
    for (std::uint32_t slot = 0; slot < slots; ++slot) add(slot);
  }
  void add(std::uint32_t slot) { queue_.push(slot); }
  std::uint32_t take() {  // not empty
    const std::uint32_t slot = queue_.front();
    queue_.pop();
    return slot;
  }
  bool empty() const { return queue_.empty(); }
  std::uint32_t sm_of(std::uint32_t slot) const { return slot % sms_; }
  // Which slot of an SM is free does not matter.
  bool same_as(const FreeSlots& other) const {
    if (queue_.size() != other.queue_.size()) return false;
    for (std::size_t i = 0; i < queue_.size(); ++i)
      if (sm_of(queue_[i]) != sm_of(other.queue_[i])) return false;
    return true;
  }

 private:
  std::uint32_t sms_ = 1;
  Ring<std::uint32_t> queue_;
};

}  // namespace uvmsim
