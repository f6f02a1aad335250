// Everything the driver knows: one for the machine. The parts of the driver are functions on it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "uvm/access_counters.h"
#include "uvm/chunk_view.h"
#include "uvm/driver.h"
#include "uvm/host_memory.h"
#include "uvm/pmm.h"
#include "uvm/prefetch/prefetch_policy.h"
#include "uvm/program_watch.h"
#include "uvm/thrashing.h"
#include "uvm/topology.h"
#include "uvm/va_space.h"

namespace uvmsim {

struct DriverState {
  explicit DriverState(const Machine& of);

  VaSpace& space(int number);
  const VaSpace& space(int number) const;
  VaBlock& block(BlockHandle handle) { return spaces[static_cast<std::size_t>(handle.va_space)].block(handle.index); }
  Pmm& memory(int gpu) { return *pmm[static_cast<std::size_t>(gpu)]; }
  PrefetchPolicy& prefetch_of(int gpu) const { return *prefetch[static_cast<std::size_t>(gpu)]; }
  AccessCounters& counters_of(int gpu) { return counters[static_cast<std::size_t>(gpu)]; }
  // What the process does on the GPU; nullptr when no policy wants to know, or it is not known.
  ProgramWatch* watch(int va_space, int gpu) const {
    const auto found = watches.find({va_space, gpu});
    return found == watches.end() ? nullptr : found->second.get();
  }
  // Tells the eviction policy of `gpu` that a kernel has got to the frame.
  void note_accessed(int gpu, int va_space, FrameIndex frame);
  // Costs of work on `gpu`.
  const DriverCosts& costs(int gpu) const { return machine.gpus[static_cast<std::size_t>(gpu)].driver_costs; }
  // Costs of work on the host's side of a block: those of the first GPU that has state there, else of GPU 0.
  const DriverCosts& costs(const VaBlock& block) const { return costs(block.gpus.empty() ? 0 : block.gpus[0].gpu); }

  // The running operation is over: what it pinned becomes evictable.
  void end_operation() {
    for (const auto& memory : pmm) memory->unpin();
  }

  struct GpuTotals {
    std::int64_t resident_pages = 0;  // of managed memory
    std::int64_t dead_pages = 0;      // copied in from the host and overwritten before they were read
    std::int64_t unread_pages = 0;    // copied in from the host and not used by a kernel since
  };
  GpuTotals& totals(int gpu) { return gpu_totals[static_cast<std::size_t>(gpu)]; }

  Machine machine;
  DriverTraits traits;
  Topology topology;
  std::vector<std::unique_ptr<PrefetchPolicy>> prefetch;  // by GPU
  std::vector<AccessCounters> counters;                   // by GPU
  ThrashingRules thrashing;
  std::deque<VaSpace> spaces;
  std::vector<ThrashingSpace> thrashing_spaces;                          // by VaSpace
  std::vector<std::unique_ptr<Pmm>> pmm;                                 // by GPU
  std::vector<std::unique_ptr<ChunkView>> views;                         // by GPU
  EvictionNeeds needs;                                                   // of the eviction policy
  std::map<std::pair<int, int>, std::unique_ptr<ProgramWatch>> watches;  // by VaSpace and GPU
  HostMemory host;
  std::vector<GpuTotals> gpu_totals;
  // Reused from call to call, so that steady state allocates nothing.
  std::vector<FaultBatch> batches;
  std::vector<BlockWork> fault_work, non_replayable_work;
  std::vector<BlockWork> counter_work;
  BlockWork cpu_work, eviction_work;
  std::vector<AheadWork> ahead_evictions, ahead_prefetches;
};

struct UvmDriver::State : DriverState {
  using DriverState::DriverState;
};

}  // namespace uvmsim
