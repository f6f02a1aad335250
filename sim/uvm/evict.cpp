// Evicting one root chunk. Section 4.3; uvm_va_block.c: uvm_va_block_evict_chunks.
#include <algorithm>

#include "base/check.h"
#include "uvm/make_resident.h"
#include "uvm/mapping.h"

namespace uvmsim {
namespace {

// Moves the pages of one part of the chunk to the host and takes the part from its block.
void evict_piece(DriverState& driver, int gpu, const Pmm::Piece& piece, EvictionWork& out) {
  VaBlock& block = driver.block(piece.owner);
  GpuBlockState& state = block.gpu(gpu);
  const DriverCosts& costs = driver.costs(gpu);
  BlockWork& work = driver.eviction_work;
  work.clear();
  ResidencyChange change;
  change.block = piece.owner;
  change.to = ProcessorId::cpu();
  change.pages = state.resident & PageMask::of(piece.chunk.region());
  change.cause = MakeResidentCause::Eviction;
  const int pages = change.pages.count();
  MoveCounts counts;
  counts.host_pages = driver.host.populate(block, change.pages).count();
  const MoveCounts moved = make_resident(driver, change, work);
  counts.cpu_unmap_runs = moved.cpu_unmap_runs;
  counts.cpu_unmap_pages = moved.cpu_unmap_pages;
  out.cpu += costs.evict_page * pages + counts.cost(costs);
  out.bytes += Bytes{pages * kPageBytes};
  out.copies.insert(out.copies.end(), work.copies.begin(), work.copies.end());
  out.unmap.insert(out.unmap.end(), work.unmap.begin(), work.unmap.end());
  if (state.root == piece.chunk.root)
    state.root = kNoRootChunk;
  else
    std::erase_if(state.sub_chunks,
                  [&](const SubChunk& c) { return c.root == piece.chunk.root && c.offset == piece.chunk.offset; });
  // The driver queues these mappings on a worker thread; here they come with the eviction.
  map_accessed_by(driver, block, piece.owner.va_space, ProcessorId::cpu(), ProcessorId::cpu(), change.pages, out.unmap);
}

}  // namespace

bool evict_one(DriverState& driver, int gpu, bool for_good, std::vector<EvictionWork>& evictions) {
  Pmm& memory = driver.memory(gpu);
  const auto victim = memory.begin_eviction();
  if (!victim) return false;
  EvictionWork& out = evictions.emplace_back();
  out.cpu = driver.costs(gpu).evict_chunk;
  for (const Pmm::Piece& piece : memory.pieces(*victim)) evict_piece(driver, gpu, piece, out);
  if (for_good)
    memory.evicted_for_good(*victim);
  else
    memory.evicted(*victim);
  return true;
}

}  // namespace uvmsim
