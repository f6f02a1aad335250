// Memory from malloc on machines with ATS: the pages of the operating system, which GPUs reach by the page tables of
// the host's processors.
//
// A page is placed where it is touched first, by the CPU or by a GPU, and everyone accesses it there without a fault
// from then on: the CPU in a GPU's memory, a GPU over the link. A GPU whose memory is full gets pages of the host.
// Access counters move pages to a GPU that keeps accessing them; nothing moves them back but cudaMemPrefetchAsync, and
// nothing evicts them: they are not the driver's.
//
// Source: uvm_ats_faults.c: ats_batch_select_residency, ats_compute_prefetch, service_ats_requests (skip_mapped,
// populate_on_cpu_alloc_failures), uvm_ats_service_access_counters; uvm_migrate_pageable.c. Differs: a block takes a
// whole 2 MiB of a GPU from its first page there to its last; NUMA policies (mbind) and advice mean nothing.
#pragma once

#include "uvm/service.h"

namespace uvmsim {

// What service_block does, for a block of such memory.
void service_system(DriverState& driver, const ServiceRequest& request, BlockWork& work);

// Moves or places `pages` at `to` as far as there is memory, and lets everyone access them.
void migrate_system(DriverState& driver, BlockHandle block, ProcessorId to, const PageMask& pages, BlockWork& work);

// Gives back what GPUs hold for the block, which is about to be freed.
void release_system(DriverState& driver, const VaBlock& block);

}  // namespace uvmsim
