// Asks a coordinator, and makes copies and streams wait for what it says.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/gpu_device.h"
#include "engine/swap_stream.h"
#include "plan/coordinator.h"

namespace uvmsim {

class Coordination {
 public:
  Coordination(std::unique_ptr<Coordinator> coordinator, IndexedVector<GpuIndex, std::unique_ptr<GpuDevice>>& gpus);

  // --- copies
  // Blocks the calling actor until a copy of `gpu` may start; returns its number. `needed_by`: of the GPU's kernels,
  // counted from 0 over the whole run, the one that needs the data; -1: not known.
  std::int64_t enter(SwapCopy copy, std::int64_t needed_by);
  void leave(std::int64_t number);
  // Whether the transfers of collectives ask, too.
  bool coordinates_collectives() const { return coordinator_->coordinates_collectives(); }

  // A GPU has run a kernel: what is needed before long may be urgent now.
  void kernel_done() {
    if (coordinates_collectives() && !ready_.empty()) changed();
  }

  // --- forward passes
  bool takes_turns(GpuIndex gpu) const { return coordinator_->takes_turns(gpu); }
  // `turn` counts as completed the turns that `gpu` has got; it is recorded for each that the host asks for.
  void add_gpu(GpuIndex gpu, EventState& turn) { turns_[gpu] = &turn; }
  // The host has recorded a turn.
  void asked() { grant(); }
  // `gpu` is at `moment` of `iteration` once all of `points` are reached.
  void reach(GpuIndex gpu, std::int64_t iteration, Moment moment, std::vector<StreamPoint> points);

 private:
  struct Ready {
    SwapCopy copy;
    std::int64_t needed_by;
  };
  void changed();
  Time when(std::int64_t number) const;
  void grant();

  std::unique_ptr<Coordinator> coordinator_;
  IndexedVector<GpuIndex, std::unique_ptr<GpuDevice>>& gpus_;
  std::map<std::int64_t, Ready> ready_;  // copies that wait, by number
  std::vector<SwapCopy> under_way_;
  std::int64_t copies_ = 0;
  WaitList changed_;
  std::map<GpuIndex, EventState*> turns_;
};

}  // namespace uvmsim
