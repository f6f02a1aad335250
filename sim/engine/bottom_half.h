// The bottom half of one GPU: the driver thread that services replayable faults.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "engine/gpu_device.h"

namespace uvmsim {

// Driver: uvm_parent_gpu_service_replayable_faults and _access_counters, which share a queue. One actor per GPU,
// asleep until an interrupt.
class BottomHalf {
 public:
  explicit BottomHalf(GpuDevice& gpu);

  // There is a fault: services until the buffer looks empty, then notifies `GpuDevice::changed`.
  void interrupt();
  // Access counters may have notifications: serviced before faults that come later, without telling anybody.
  void notify() { work_.notify_all(); }
  // No fault waits for it.
  bool idle() const { return idle_; }
  // It has faults at hand: neither idle nor waiting for copies, a replay or the next entries.
  bool servicing() const { return servicing_; }

 private:
  void run();
  Duration interrupt_latency(Time raised) const;
  void service_interrupt();
  // Batches of notifications, until there are none; each waits for its copies.
  void service_notifications();
  // One batch of `entries`, of which `put` were seen; returns whether it was throttled.
  bool service_batch(std::size_t put);
  // Waits until the frame is nobody's, `debt` of CPU time first, and takes it until `let_go` of all, where others may
  // want it.
  void hold(int va_space, FrameIndex frame, Duration& debt);
  void let_go();
  void tell(const FaultBatch& batch, std::size_t entries);
  Time chains_done();
  bool flushes_all(const FaultBatch& batch) const;
  void flush_and_replay(const FaultBatch& batch, std::size_t left, bool replays);
  std::size_t sample_put(Time at);

  GpuDevice& gpu_;
  bool idle_ = true, servicing_ = false;
  Time raised_{};   // the interrupt of the first fault that waits for it
  Time goes_on_{};  // when the replay it waits for is done
  Time idle_since_{};
  WaitList work_;
  WaitGroup chains_, moves_;                      // of faults, of notifications
  std::vector<std::pair<int, FrameIndex>> held_;  // ascending
  std::vector<FaultEntry> entries_;
  std::set<int> spaces_;  // that had a batch
  FaultBatchSpan span_;   // of the current batch, for observers
  std::vector<PageNumber> pages_;
};

}  // namespace uvmsim
