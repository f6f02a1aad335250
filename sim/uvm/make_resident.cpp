#include "uvm/make_resident.h"

#include "uvm/mapping.h"
#include "uvm/throttle.h"

namespace uvmsim {
namespace {

// One contiguous chunk behind the whole block (section 6.2): then a run of pages is one copy method.
bool contiguous(const VaBlock& block, ProcessorId where) {
  if (where.is_cpu()) return block.cpu.whole_chunk;
  const GpuBlockState* state = block.find_gpu(where.gpu_index());
  return state != nullptr && state->root != kNoRootChunk;
}

BlockCopy make_copy(const VaBlock& block, ProcessorId from, ProcessorId to, const PageMask& pages,
                    const ResidencyChange& change, const HostPages& host_pages) {
  const PageMask prefetched = pages & change.prefetched;
  BlockCopy copy;
  copy.from = from;
  copy.to = to;
  copy.bytes = {pages.count() * kPageBytes};
  copy.prefetch_bytes = {prefetched.count() * kPageBytes};
  copy.copies = prefetched.run_count() + (pages - prefetched).run_count();
  copy.methods = contiguous(block, from) && contiguous(block, to) ? copy.copies : host_pages.count(pages);
  copy.cause = change.cause;
  return copy;
}

// Copies `pages` from their holders, nearest first, staged through the host between GPUs that are not peers.
void copy_pages(DriverState& driver, VaBlock& block, const ResidencyChange& change, PageMask pages, BlockWork& work,
                MoveCounts& counts) {
  const auto push = [&](ProcessorId from, ProcessorId to, const PageMask& part) {
    const BlockCopy copy = make_copy(block, from, to, part, change, driver.host_pages);
    counts.copy_methods += copy.methods;
    counts.copy_runs += copy.copies;
    work.copies.push_back(copy);
  };
  while (pages.any()) {
    ProcessorSet holders;
    if ((block.cpu.resident & pages).any()) holders.insert(ProcessorId::cpu());
    for (const GpuBlockState& state : block.gpus)
      if ((state.resident & pages).any()) holders.insert(ProcessorId::gpu(state.gpu));
    const ProcessorId from = driver.topology.closest(change.to, holders);
    const PageMask part = pages & block.resident(from);
    const bool staged = !driver.topology.can_copy(from, change.to);
    if (staged) {
      counts.add(driver.host.populate(block, part));
      push(from, ProcessorId::cpu(), part);
    }
    push(staged ? ProcessorId::cpu() : from, change.to, part);
    if (!change.to.is_cpu() && (from.is_cpu() || staged)) {
      block.gpu(change.to.gpu_index()).unread |= part;
      driver.totals(change.to.gpu_index()).unread_pages += part.count();
    }
    pages -= part;
  }
}

// `leaving` pages are resident nowhere but at `to` from now on.
void drop_other_holders(DriverState& driver, VaBlock& block, ProcessorId to, const PageMask& leaving) {
  if (!to.is_cpu()) block.cpu.resident -= leaving;
  for (GpuBlockState& state : block.gpus) {
    const PageMask dropped = state.resident & leaving;
    if (ProcessorId::gpu(state.gpu) == to || dropped.none()) continue;
    state.resident -= dropped;
    driver.totals(state.gpu).resident_pages -= dropped.count();
    driver.totals(state.gpu).unread_pages -= (state.unread & dropped).count();
    state.unread -= dropped;
    Pmm& memory = driver.memory(state.gpu);
    if (block.whole() && state.resident.none() && state.root != kNoRootChunk)
      memory.move_to(ChunkList::Unused, state.root);
    if (memory.chunk_pages() == kPagesPerBlock) continue;
    for_each_chunk(state, dropped, [&](RootChunkIndex chunk, PageRegion part) {
      if (state.resident.count(part) == 0) memory.move_to(ChunkList::Unused, chunk);
    });
  }
}

}  // namespace

MoveCounts make_resident(DriverState& driver, const ResidencyChange& change, BlockWork& work) {
  VaBlock& block = driver.block(change.block);
  GpuBlockState* gpu = change.to.is_cpu() ? nullptr : &block.gpu(change.to.gpu_index());
  const PageMask before = block.resident_anywhere();
  const PageMask moving = change.pages - block.resident(change.to);
  const PageMask collapsing = (change.pages & block.read_duplicated()) - change.duplicate;
  const PageMask leaving = (moving - change.duplicate) | collapsing;
  const PageMask discarded = moving & block.discarded();
  MoveCounts counts;
  unmap_leaving(block, change.block.va_space, change.to, leaving, moving, work, counts);
  // Also what is there already and nowhere else: a prefetch has pages that the GPU has written (compute_prefetch_mask
  // leaves them in), and takes its right to write them (uvm_va_block_make_resident_read_duplicate).
  if (const PageMask kept = change.duplicate - block.read_duplicated(); kept.any())
    revoke_for_duplication(block, change.block.va_space, kept, work, counts);
  const PageMask copied = (moving & before) - discarded;
  copy_pages(driver, block, change, copied, work, counts);
  note_migration(driver, change, copied);

  const PageMask populated = (moving - before) | discarded;
  counts.populated_pages = populated.count();
  work.populated += Bytes{populated.count() * kPageBytes};
  work.prefetched += Bytes{(moving & change.prefetched).count() * kPageBytes};
  if (gpu != nullptr) work.zeroed += Bytes{discarded.count() * kPageBytes};

  drop_other_holders(driver, block, change.to, leaving);
  if (gpu == nullptr) {
    block.cpu.resident |= moving;
  } else {
    gpu->resident |= moving;
    driver.totals(gpu->gpu).resident_pages += moving.count();
    Pmm& memory = driver.memory(gpu->gpu);
    if (gpu->root != kNoRootChunk) memory.touch(gpu->root);
    if (memory.chunk_pages() < kPagesPerBlock)
      for_each_chunk(*gpu, change.pages, [&](RootChunkIndex chunk, PageRegion) { memory.touch(chunk); });
  }
  if (const PageMask shared = moving & change.duplicate & before; shared.any() || block.rare) {
    RareBlockState& rare = block.make_rare();
    rare.read_duplicated = (rare.read_duplicated - leaving) | shared;
    if (change.cause != MakeResidentCause::Eviction) rare.discarded -= change.pages;
  }
  return counts;
}

}  // namespace uvmsim
