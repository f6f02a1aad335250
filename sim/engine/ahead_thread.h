// A driver thread of one GPU that works alongside the bottom half, for policies that look beyond faults.
#pragma once

#include "engine/bottom_half.h"
#include "engine/gpu_device.h"

namespace uvmsim {

// Does one thing at a time and waits for its copies. Evictions go on alongside fault service (as kswapd does);
// prefetches begin only while the bottom half has no faults at hand (DeepUM: faults first).
class AheadThread {
 public:
  enum class Kind { Evict, Prefetch };
  AheadThread(GpuDevice& gpu, const BottomHalf& bottom_half, Kind kind);

 private:
  void run();
  AheadWork& wait_for_work();

  GpuDevice& gpu_;
  const BottomHalf& bottom_half_;
  Kind kind_;
  WaitGroup chains_;
};

}  // namespace uvmsim
