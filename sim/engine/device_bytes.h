// The bytes of one GPU that nobody holds, now or soon: counts, not addresses.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "engine/swap_stream.h"
#include "plan/plan.h"

namespace uvmsim {

// Accounts in the order in which the host issues: bytes may be handed out before they are free, together with the
// points of streams after which they are. So no byte is ever used twice, and nothing waits for what is issued later.
class DeviceBytes {
 public:
  explicit DeviceBytes(Bytes capacity) : free_(capacity.value) {}

  // The most that was taken and not released, in the order of issue.
  std::int64_t peak() const { return peak_; }

  // `bytes` become free once all of `after` are reached; `sync`: of the copy they wait for, Stream for kernels.
  void release(std::int64_t bytes, std::vector<StreamPoint> after, Sync sync);

  // Takes `bytes` if there are enough that need no host to wait; `waits` receives what their first user has to wait
  // for. Bytes that work on the stream of event `own` frees are taken first: what follows on it need not wait.
  bool take(std::int64_t bytes, const EventState* own, std::vector<StreamPoint>& waits);

  // The oldest release that only a waiting host can use; nullopt: there is none. `any`: also those of Sync::None.
  std::optional<StreamPoint> to_wait_for(bool any) const;

 private:
  struct Lot {
    std::int64_t bytes = 0;
    std::vector<StreamPoint> after;
    Sync sync = Sync::Stream;
  };
  void collect();
  static void take_from(Lot& lot, std::int64_t& left, std::vector<StreamPoint>& waits);

  std::int64_t free_;
  std::int64_t held_ = 0, peak_ = 0;
  std::deque<Lot> lots_;  // in the order of their release
};

}  // namespace uvmsim
