// Device memory whose bytes are counted: any free ones will do.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

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
    std::vector<StreamPoint> after;  // those that were not reached when it was released
    Sync sync = Sync::Stream;
    std::int64_t released = 0;  // before it, so many others
  };
  // Lots that one stream's work frees, in its order: what kernels free, nearly always.
  struct Queue {
    const EventState* event = nullptr;
    std::int64_t bytes = 0;  // of all of them
    std::deque<Lot> lots{};
  };

  Queue* queue_for(const std::vector<StreamPoint>& after, Sync sync);
  // Returns the bytes that a stream may have now, where it waits for what frees them.
  std::int64_t collect();
  struct Oldest {
    Lot* lot = nullptr;      // nullptr: there is none
    Queue* queue = nullptr;  // whose first it is; nullptr: it is one of the others
  };
  // The oldest lot that a stream may have, of those that the work of `own` alone frees (nullptr: any stream's).
  Oldest oldest(const EventState* own);
  void take_lots(const EventState* own, std::int64_t& left, std::vector<StreamPoint>& waits);

  std::int64_t free_;
  std::int64_t held_ = 0, peak_ = 0, releases_ = 0;
  std::vector<Queue> queues_;  // one for each stream that freed something
  std::deque<Lot> others_;     // in the order of their release
};

}  // namespace uvmsim
