// Everything the driver knows: one for the machine. The parts of the driver are functions on it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/indexed_vector.h"
#include "uvm/access_counters.h"
#include "uvm/chunk_view.h"
#include "uvm/driver.h"
#include "uvm/host_memory.h"
#include "uvm/host_pages.h"
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
  Pmm& memory(GpuIndex gpu) { return *pmm[gpu]; }
  PrefetchPolicy& prefetch_of(GpuIndex gpu) const { return *prefetch[gpu]; }
  AccessCounters& counters_of(GpuIndex gpu) { return counters[gpu]; }
  // What the process does on the GPU; nullptr when no policy wants to know, or it is not known.
  ProgramWatch* watch(int va_space, GpuIndex gpu) const {
    const auto found = watches.find({va_space, gpu});
    return found == watches.end() ? nullptr : found->second.get();
  }
  // Tells the eviction policy of `gpu` that a kernel has got to the frame.
  void note_accessed(GpuIndex gpu, int va_space, FrameIndex frame);
  // Costs of work on `gpu`.
  const DriverCosts& costs(GpuIndex gpu) const { return machine.gpus[gpu].driver_costs; }
  // Costs of work on the host's side of a block: those of the first GPU that has state there, else of GPU 0.
  const DriverCosts& costs(const VaBlock& block) const {
    return costs(block.gpus.empty() ? GpuIndex{} : block.gpus[0].gpu);
  }

  // The running operation is over: what it pinned becomes evictable.
  void end_operation() {
    for (const auto& memory : pmm) memory->unpin();
  }

  struct GpuTotals {
    std::int64_t resident_pages = 0;  // of managed memory
    std::int64_t dead_pages = 0;      // copied in from the host and overwritten before they were read
    std::int64_t unread_pages = 0;    // copied in from the host and not used by a kernel since
  };
  GpuTotals& totals(GpuIndex gpu) { return gpu_totals[gpu]; }

  Machine machine;
  DriverTraits traits;
  HostPages host_pages;
  Topology topology;
  template <class T>
  using ByGpu = IndexedVector<GpuIndex, T>;

  ByGpu<std::unique_ptr<PrefetchPolicy>> prefetch;
  ByGpu<AccessCounters> counters;
  ThrashingRules thrashing;
  std::deque<VaSpace> spaces;
  std::vector<ThrashingSpace> thrashing_spaces;  // by VaSpace
  ByGpu<std::unique_ptr<Pmm>> pmm;
  ByGpu<std::unique_ptr<ChunkView>> views;
  EvictionNeeds needs;                                                        // of the eviction policy
  std::map<std::pair<int, GpuIndex>, std::unique_ptr<ProgramWatch>> watches;  // by VaSpace and GPU
  HostMemory host;
  ByGpu<GpuTotals> gpu_totals;
  // Reused from call to call, so that steady state allocates nothing.
  ByGpu<FaultBatch> batches;
  ByGpu<BlockWork> fault_work, non_replayable_work;
  ByGpu<BlockWork> counter_work;
  BlockWork cpu_work, eviction_work;
  ByGpu<AheadWork> ahead_evictions, ahead_prefetches;
};

struct UvmDriver::State : DriverState {
  using DriverState::DriverState;
};

}  // namespace uvmsim
