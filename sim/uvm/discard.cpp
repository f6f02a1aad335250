// Discarding contents (UvmDiscard, driver 580 and later). Source: driver specification, sections 4.2 and 8.
#include "uvm/driver_state.h"
#include "uvm/mapping.h"

namespace uvmsim {

std::vector<PageTableWrite> UvmDriver::discard(int va_space, VirtualAddress address, Bytes size, bool lazy) {
  std::vector<PageTableWrite> writes;
  if (!state_->traits.has_discard || size.value <= 0 || is_system(va_space, page_of(address))) return writes;
  // A page of which only a part is discarded keeps its contents.
  const PageNumber first = state_->host_pages.next(page_of(address + kPageBytes - 1));
  const PageNumber outer = state_->host_pages.first(page_of(address + static_cast<VirtualAddress>(size.value)));
  state_->space(va_space).for_each_block(first, outer, [&](VaBlock& block, BlockHandle) {
    const PageNumber base = first_page_of(block.frame);
    const PageMask pages = PageMask::of({std::max(first, base + block.region.first) - base,
                                         std::min(outer, base + block.region.outer) - base}) &
                           block.resident_anywhere();
    if (pages.none()) return;
    RareBlockState& rare = block.make_rare();
    rare.discarded |= pages;
    MoveCounts counts;
    if (!lazy) unmap_from_cpu(block, pages, counts);
    for (GpuBlockState& state : block.gpus) {
      if (!lazy) unmap_from_gpu(block, va_space, state, pages, writes);
      state_->totals(state.gpu).unread_pages -= (state.unread & pages).count();
      state.unread -= pages;
      for_each_chunk(state, pages,
                     [&](RootChunkIndex chunk, PageRegion) { state_->memory(state.gpu).note_discarded(chunk); });
      if (state.root == kNoRootChunk || state.resident.none() || (state.resident - rare.discarded).any()) continue;
      const ChunkList list = state_->traits.discarded_list ? ChunkList::Discarded : ChunkList::Unused;
      state_->memory(state.gpu).move_to(list, state.root);
    }
  });
  return writes;
}

}  // namespace uvmsim
