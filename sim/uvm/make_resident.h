// Moving pages of one block to one processor: the state change and the work that goes with it.
//
// Source: driver specification, sections 6.2 and 6.3; uvm_va_block.c: uvm_va_block_make_resident_copy, _finish.
#pragma once

#include "uvm/driver_state.h"

namespace uvmsim {

struct ResidencyChange {
  BlockHandle block;
  ProcessorId to;
  PageMask pages;       // to be resident at `to` afterwards; memory behind them must be populated
  PageMask prefetched;  // those of them no fault asked for
  PageMask duplicate;   // those of them that keep their source (read duplication); the others move
  MakeResidentCause cause = MakeResidentCause::ReplayableFault;
  Time now{};  // for thrashing; matters for faults only
};

// What a change costs the CPU, in pages of 4 KiB and runs. The driver pays for pages of the host.
struct MoveCounts {
  int copy_methods = 0, copy_runs = 0;
  int populated_pages = 0;
  int cpu_unmap_runs = 0, cpu_unmap_pages = 0;
  int cpu_map_pages = 0;                      // those that are mapped again, read-only
  int host_pages = 0, zeroed_host_pages = 0;  // newly allocated; those of them that were zeroed

  void add(const NewHostPages& pages) {
    host_pages += pages.added.count();
    zeroed_host_pages += pages.zeroed.count();
  }

  Duration cost(const DriverCosts& costs, const HostPages& of_host) const {
    return costs.copy_method * copy_methods + costs.copy_run * copy_runs +
           costs.populate_page * of_host.count(populated_pages) + costs.cpu_unmap_run * cpu_unmap_runs +
           costs.cpu_unmap_page * of_host.count(cpu_unmap_pages) + costs.cpu_map_page * of_host.count(cpu_map_pages) +
           costs.cpu_chunk_page * of_host.count(host_pages) + costs.cpu_zero_page * of_host.count(zeroed_host_pages);
  }
};

// Unmaps, copies and makes resident; appends unmaps and copies to `work`. Leaves the destination's own page
// tables alone, except for mappings of pages that were elsewhere before.
MoveCounts make_resident(DriverState& driver, const ResidencyChange& change, BlockWork& work);

// Puts memory behind `pages` of the block at `to`; evicts one root chunk at a time until that works.
enum class Populated {
  Yes,
  AfterEviction,  // memory is there, but residency may have changed: decide again
  OutOfMemory     // nothing is evictable; `work.out_of_memory` is set
};
// CPU cost, zeroed bytes and evictions are added to `work`.
Populated populate(DriverState& driver, BlockHandle block, ProcessorId to, const PageMask& pages,
                   const DriverCosts& costs, BlockWork& work);

// Evicts one root chunk of `gpu` (section 4.3), and what the policy wants to go along with it. False when none is
// evictable.
enum class EvictFor {
  Operation,  // the running operation gets the chunk
  Good,       // it becomes free
  Later       // it becomes free with Pmm::evicted_for_good, once its pages are out
};
bool evict_one(DriverState& driver, GpuIndex gpu, EvictFor what, std::vector<EvictionWork>& evictions,
               std::vector<RootChunkIndex>* evicted = nullptr);

// The sub-chunk of a ragged block that covers `page`: 64 KiB where one fits, else 4 KiB (section 1.2).
PageRegion sub_chunk_region(PageRegion block, std::uint32_t page);

}  // namespace uvmsim
