// Attributes each instant of one GPU's compute stream to exactly one cause.
#pragma once

#include <array>

#include "base/units.h"
#include "metrics/result.h"
#include "observe/observer.h"

namespace uvmsim {

// Flags say what goes on; the first cause in this order that holds gets the time (metrics/result.h: TimeSplit):
//   a kernel runs and a fault batch is being serviced:
//     fault_cpu  the bottom half works on the CPU (from the first visible fault on)
//     eviction   it waits, and a device-to-host copy runs
//     copy_in    it waits, and a host-to-device or peer copy runs
//     fault_cpu  it waits for page-table writes or the replay
//   compute      a kernel runs
//   transfer     an explicit copy or prefetch of the stream runs
//   collective   the stream is in a collective
//   idle         none of these
class ActivityClock {
 public:
  enum Flag { Kernel, Batch, Cpu, CopyOut, CopyIn, Transfer, Collective, kFlags };

  // Counted: a flag is up while it was raised more often than lowered.
  void raise(Flag flag, Time at) { change(flag, +1, at); }
  void lower(Flag flag, Time at) { change(flag, -1, at); }
  // The batch flag and the CPU flag go up at `at`, now or later, and down again.
  void batch_begins(Time at);
  void batch_ends(Time at);

  // A copy that ran from `start` to now took `excess` longer than alone: of the time that its direction got since its
  // flag went up, that part was waiting for the link. Time that was read before, or before a kernel started, stays what
  // it was: an interval between two readings never has less than nothing of a cause.
  void copy_waited(Time start, Duration excess, Flag direction, Time now);

  TimeSplit split(Time at);
  // The causes that a running kernel can have, so far.
  KernelTime kernel_time(Time at);
  Duration total(Time at);

 private:
  enum Cause { FaultCpu, EvictionCause, CopyInCause, LinkWait, Compute, TransferCause, CollectiveCause, Idle, kCauses };
  void change(Flag flag, int by, Time at);
  void account(Time until);
  Cause cause() const;

  std::array<int, kFlags> flags_{};
  std::array<Duration, kCauses> spent_{};
  std::array<Duration, kCauses> settled_{};  // of `spent_`, what no copy that ends later can have waited in
  Time last_{};
  Time batch_at_ = kNever;
};

}  // namespace uvmsim
