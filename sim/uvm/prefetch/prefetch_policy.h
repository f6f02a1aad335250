// Prefetch policies answer "which pages beside the faulted ones should this service move?".
//
// A policy decides and never acts: it sees one service of one VA block and returns a mask.
#pragma once

#include <memory>

#include "base/page_mask.h"
#include "base/registry.h"
#include "machine/machine.h"

namespace uvmsim {

// One service of one VA block towards one destination. Pages are pages of the block's 2 MiB frame.
struct PrefetchView {
  PageRegion block;     // the VA block: {0, 512} unless it is ragged
  PageRegion region;    // where prefetching is allowed: the whole block, except under HMM and ATS
  PageMask faulted;     // pages this service makes resident at the destination
  PageMask resident;    // pages resident at the destination
  PageMask thrashing;   // pages the thrashing module watches as thrashing
  PageMask cpu_mapped;  // pages mapped readable on the CPU; matters for the CPU as destination only
  bool to_cpu = false;
  bool preferred_location_set = false;
  bool to_preferred_location = false;
  bool resident_anywhere = true;  // some page of the block is resident on some processor
  bool hmm = false;               // the block belongs to pageable memory (HMM)
  bool ats = false;               // the ATS variant of the algorithm: no growth, no alignment, no subtraction
};

class PrefetchPolicy {
 public:
  virtual ~PrefetchPolicy() = default;
  // The pages to make resident along with `view.faulted`. Subset of `view.region`; pages already resident
  // at the destination are allowed (they are mapped, not moved). Pure: the same view, the same answer.
  virtual PageMask prefetch(const PrefetchView& view) const = 0;
};

using PrefetchRegistry = Registry<std::unique_ptr<PrefetchPolicy>(const DriverConfig&, const DriverTraits&)>;
PrefetchRegistry& prefetch_policies();

}  // namespace uvmsim
