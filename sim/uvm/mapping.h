// Page tables: what the driver lets each processor do with each page, and the writes that change it.
//
// Source: driver specification, sections 1.3 (permissions) and 6.3 (steps 1, 5 to 7).
#pragma once

#include "uvm/make_resident.h"

namespace uvmsim {

// Lets `gpu` read (and write) `pages`, where they are resident or remotely; appends what changes to `writes`.
void map_on_gpu(VaBlock& block, int va_space, GpuIndex gpu, const PageMask& pages, bool write,
                std::vector<PageTableWrite>& writes);
// Lets the CPU read (and write) `pages`, resident there or on a GPU that it reaches. Returns the number of entries
// inserted.
int map_on_cpu(VaBlock& block, const PageMask& pages, bool write);
// Maps `pages`, resident at `where`, for `who`; returns the number of CPU entries inserted.
int map_on(VaBlock& block, int va_space, ProcessorId who, const PageMask& pages, bool write,
           std::vector<PageTableWrite>& writes);
// Maps `pages`, resident at `where`, on every processor of the accessed-by set that can reach them, except
// `already`. Returns the number of CPU entries inserted.
int map_accessed_by(DriverState& driver, VaBlock& block, int va_space, ProcessorId where, ProcessorId already,
                    const PageMask& pages, std::vector<PageTableWrite>& writes);

// Takes all access to `pages` from the GPU; appends what changes.
void unmap_from_gpu(VaBlock& block, int va_space, GpuBlockState& state, const PageMask& pages,
                    std::vector<PageTableWrite>& writes);
// Takes all access to `pages` from the CPU; counts runs and pages that were mapped.
void unmap_from_cpu(VaBlock& block, const PageMask& pages, MoveCounts& counts);

// Step 1 of a move: `leaving` pages give up every mapping but the ones `to` has of its own copies; `moving` are
// those not resident at `to` yet.
void unmap_leaving(VaBlock& block, int va_space, ProcessorId to, const PageMask& leaving, const PageMask& moving,
                   BlockWork& work, MoveCounts& counts);
// Holders of `pages` keep read access to their own copies; remote mappings go.
void revoke_for_duplication(VaBlock& block, int va_space, const PageMask& pages, BlockWork& work, MoveCounts& counts);

}  // namespace uvmsim
