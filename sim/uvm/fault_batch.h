// Fetching and preprocessing replayable faults. Source: driver specification, sections 2.2 and 2.3;
// uvm_gpu_replayable_faults.c: fetch_fault_buffer_entries, preprocess_fault_batch.
#pragma once

#include <span>

#include "uvm/driver_state.h"

namespace uvmsim {

// Coalesces `entries`, in order of arrival, into `batch.faults`, which name the first of a page of the host; sets
// raw_entries and duplicates (merged ones).
void coalesce(std::span<const FaultEntry> entries, bool enabled, const HostPages& host_pages, FaultBatch& batch);
// Sorts by page and access, counts adjacent duplicates, and cuts at the blocks of `space`.
void preprocess(VaSpace& space, FaultBatch& batch);

}  // namespace uvmsim
