// Evicting one root chunk. Section 4.3; uvm_va_block.c: uvm_va_block_evict_chunks.
#include <algorithm>

#include "base/check.h"
#include "uvm/make_resident.h"
#include "uvm/mapping.h"

namespace uvmsim {
namespace {

// Moves `pages`, those of the block behind which there are parts of `root`, to the host, and takes the parts from it.
void evict_block(DriverState& driver, GpuIndex gpu, RootChunkIndex root, BlockHandle owner, const PageMask& pages,
                 EvictionWork& out) {
  VaBlock& block = driver.block(owner);
  GpuBlockState& state = block.gpu(gpu);
  const DriverCosts& costs = driver.costs(gpu);
  BlockWork& work = driver.eviction_work;
  work.clear();
  ResidencyChange change;
  change.block = owner;
  change.to = ProcessorId::cpu();
  change.pages = state.resident & pages;
  if (driver.needs.drops_inactive)
    if (const ProgramWatch* watch = driver.watch(owner.va_space, gpu))
      if (const PageMask inactive = change.pages & driver.host_pages.inwards(watch->inactive(block.frame));
          inactive.any())
        block.make_rare().discarded |= inactive;
  change.cause = MakeResidentCause::Eviction;
  const int count = change.pages.count();
  MoveCounts counts;  // runs are part of evict_page
  counts.add(driver.host.populate(block, change.pages));
  const MoveCounts moved = make_resident(driver, change, work);
  counts.cpu_unmap_runs = moved.cpu_unmap_runs;
  counts.cpu_unmap_pages = moved.cpu_unmap_pages;
  counts.copy_methods = moved.copy_methods;
  out.cpu += costs.evict_page * driver.host_pages.count(count) + counts.cost(costs, driver.host_pages);
  out.bytes += Bytes{count * kPageBytes};
  out.copies.insert(out.copies.end(), work.copies.begin(), work.copies.end());
  out.unmap.insert(out.unmap.end(), work.unmap.begin(), work.unmap.end());
  if (state.root == root) state.root = kNoRootChunk;
  std::erase_if(state.sub_chunks, [&](const SubChunk& chunk) { return chunk.root == root; });
  // The driver queues these mappings on a worker thread; here they come with the eviction.
  map_accessed_by(driver, block, owner.va_space, ProcessorId::cpu(), ProcessorId::cpu(), change.pages, out.unmap);
  if (driver.machine.driver.uvm_perf_map_remote_on_eviction && driver.counters_of(gpu).enabled() &&
      !block.policy.read_duplication)
    map_on_gpu(block, owner.va_space, gpu, change.pages - block.read_duplicated(), true, out.unmap);
}

void evict_chunk(DriverState& driver, GpuIndex gpu, RootChunkIndex victim, std::vector<EvictionWork>& evictions) {
  EvictionWork& out = evictions.emplace_back();
  for (std::vector<Pmm::Piece> pieces = driver.memory(gpu).pieces(victim); !pieces.empty();) {
    const BlockHandle owner = pieces.front().owner;
    PageMask pages;
    std::erase_if(pieces, [&](const Pmm::Piece& piece) {
      if (piece.owner == owner) pages.set(piece.chunk.region());
      return piece.owner == owner;
    });
    evict_block(driver, gpu, victim, owner, pages, out);
  }
}

}  // namespace

bool evict_one(DriverState& driver, GpuIndex gpu, EvictFor what, std::vector<EvictionWork>& evictions,
               std::vector<RootChunkIndex>* evicted) {
  Pmm& memory = driver.memory(gpu);
  const auto victim = memory.begin_eviction();
  if (!victim) return false;
  std::vector<RootChunkIndex> victims = memory.more_victims(*victim);
  victims.insert(victims.begin(), *victim);
  for (const RootChunkIndex chunk : victims) {
    evict_chunk(driver, gpu, chunk, evictions);
    if (chunk == *victim) evictions.back().cpu += driver.costs(gpu).evict_chunk;  // one search for all of them
    if (what == EvictFor::Operation) memory.evicted(chunk);
    if (what == EvictFor::Good) memory.evicted_for_good(chunk);
    if (what == EvictFor::Later) memory.leave_in_eviction(chunk);
    if (evicted != nullptr) evicted->push_back(chunk);
  }
  return true;
}

}  // namespace uvmsim
