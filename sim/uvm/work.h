// What the driver decided, for the engine to turn into time: CPU steps, copies, page-table writes.
//
// The driver's state changes when it decides; GPUs see page-table writes only when the engine applies them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/page_mask.h"
#include "base/units.h"

namespace uvmsim {

// Driver: uvm_make_resident_cause_t.
enum class MakeResidentCause : std::uint8_t {
  ReplayableFault,
  NonReplayableFault,
  CpuFault,
  Prefetch,
  ApiMigrate,
  ApiPrefetch,
  Eviction,
  AccessCounter
};

// Pages of one block moving from one processor to another: one push to one copy engine.
struct BlockCopy {
  ProcessorId from, to;
  Bytes bytes{};
  Bytes prefetch_bytes{};  // of `bytes`, those no fault asked for
  int copies = 0;          // maximal runs of pages of one cause (a profiler's migrations)
  int methods = 0;         // copy-engine methods: one per run when both sides are contiguous, else one per page
  MakeResidentCause cause = MakeResidentCause::ReplayableFault;
};

// Page-table entries of one GPU, to be written for `pages` of `frame` (2 MiB of the VaSpace).
struct PageTableWrite {
  enum class Permission : std::uint8_t { None, Read, ReadWrite };
  ProcessorId gpu;
  FrameIndex frame{};
  PageMask pages;
  Permission permission = Permission::None;
  bool remote = false;  // the entries point at host (or peer) memory
  int va_space = 0;
};

// One root chunk evicted: `cpu`, at whose end the unmaps are visible, then the copies, asynchronously.
// Whatever is put into the chunk next starts after these copies.
struct EvictionWork {
  Duration cpu{};
  std::vector<PageTableWrite> unmap;
  std::vector<BlockCopy> copies;  // empty: nothing to write back ("clean drop")
  Bytes bytes{};                  // of pages that left the GPU
};

// One service of one block: the chain `evictions -> zero -> copies (in order) -> map`.
// The CPU part is `evictions[i].cpu ...` then `cpu`; `unmap` is visible at its end, when the chain is queued.
struct BlockWork {
  std::vector<EvictionWork> evictions;
  Duration cpu{};
  std::vector<PageTableWrite> unmap;
  ProcessorId destination;
  Bytes zeroed{};  // cleared by the destination GPU's internal copy engine, before the copies
  std::vector<BlockCopy> copies;
  std::vector<PageTableWrite> map;  // valid once the chain is complete and `pte_update` has passed
  bool serviced = false;            // at least one fault was serviced (not all were stale)
  bool throttled = false;           // at least one page was throttled
  bool waits_for_copies = false;    // the CPU thread waits for the copies (CPU faults, migration to the CPU)
  Duration sleep{};                 // throttled CPU fault
  int faults_serviced = 0, faults_stale = 0;
  Bytes populated{};           // made resident without a copy
  Bytes prefetched{};          // of copied and populated bytes: those no fault asked for
  bool out_of_memory = false;  // no chunk is evictable
  bool host_out_of_memory = false;

  void clear();
};

}  // namespace uvmsim
