// Device memory whose bytes are counted: any free ones will do.
#pragma once

#include <deque>

#include "engine/device_memory.h"

namespace uvmsim {

// Bytes that work on a request's own stream frees are taken first: what follows on that stream need not wait.
class CountedMemory final : public DeviceMemory {
 public:
  explicit CountedMemory(Bytes capacity) : free_(capacity.value) {}

  void release(const DeviceBlock& block, std::vector<StreamPoint> after, Sync sync) override;
  std::optional<DeviceBlock> take(const Request& request, std::vector<StreamPoint>& waits) override;
  std::optional<StreamPoint> to_wait_for(bool any) const override;
  std::int64_t held() const override { return held_; }
  std::int64_t peak() const override { return peak_; }

 private:
  struct Lot {
    std::int64_t bytes = 0;
    std::vector<StreamPoint> after;
    Sync sync = Sync::Stream;
  };
  // Returns the bytes that a stream may have now, where it waits for what frees them.
  std::int64_t collect();
  static void take_from(Lot& lot, std::int64_t& left, std::vector<StreamPoint>& waits);

  std::int64_t free_;
  std::int64_t held_ = 0, peak_ = 0;
  std::deque<Lot> lots_;  // in the order of their release
};

}  // namespace uvmsim
