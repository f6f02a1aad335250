// Servicing faults of one block: decide where each page goes, add what the prefetcher wants, move, map.
//
// Source: driver specification, sections 2.4 and 6.3; uvm_gpu_replayable_faults.c:
// service_fault_batch_block_locked, uvm_va_block.c: uvm_va_block_service_locked.
#pragma once

#include <span>

#include "uvm/driver_state.h"

namespace uvmsim {

struct ServiceRequest {
  BlockHandle block;
  ProcessorId faulter;
  MakeResidentCause cause = MakeResidentCause::ReplayableFault;
  // Faults of the block by page, the strongest access to a page first; or pages that access counters ask for, which
  // the GPU may access already.
  std::span<const FaultBatch::Representative> faults;
  Time now{};
};

// Adds to `work`, which the caller has cleared, all but the fixed cost of the service.
void service_block(DriverState& driver, const ServiceRequest& request, BlockWork& work);

}  // namespace uvmsim
