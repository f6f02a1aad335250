#include <algorithm>

#include "uvm/make_resident.h"

namespace uvmsim {
namespace {

// Pages of a fresh chunk that are resident nowhere are cleared, once, unless the chunk is known to be zero.
// Driver: block_zero_new_gpu_chunk.
void zero_chunk(const VaBlock& block, const PageMask& chunk, bool dirty, BlockWork& work) {
  if (dirty) work.zeroed += Bytes{(chunk - block.resident_anywhere()).count() * kPageBytes};
}

// False when a chunk is missing.
bool populate_ragged(Pmm& memory, BlockHandle handle, VaBlock& block, GpuIndex gpu, const PageMask& pages,
                     BlockWork& work) {
  GpuBlockState& state = block.gpu(gpu);
  PageMask missing = pages - block.gpu_backed(state);
  while (missing.any()) {
    const PageRegion region = sub_chunk_region(block.region, missing.next_set(0));
    const auto chunk = memory.take_sub_chunk(handle, block.frame, region.first, region.page_count());
    if (!chunk) return false;
    zero_chunk(block, PageMask::of(region), memory.dirty(*chunk), work);
    const auto behind =
        std::ranges::find_if(state.sub_chunks, [&](const SubChunk& c) { return c.first > chunk->first; });
    state.sub_chunks.insert(behind, *chunk);
    missing.reset(region);
  }
  return true;
}

// The same from chunks of 64 KiB, of which each backs one block alone.
bool populate_big_pages(Pmm& memory, BlockHandle handle, VaBlock& block, GpuIndex gpu, const PageMask& pages,
                        const DriverCosts& costs, BlockWork& work) {
  GpuBlockState& state = block.gpu(gpu);
  PageMask missing = pages - block.gpu_backed(state);
  while (missing.any()) {
    const std::uint32_t first = missing.next_set(0) / kPagesPerBigPage * kPagesPerBigPage;
    const PageRegion region{std::max(first, block.region.first),
                            std::min(first + kPagesPerBigPage, block.region.outer)};
    const auto root = memory.take_root(handle, block.frame, region);
    if (!root) return false;
    work.cpu += costs.new_chunk;
    zero_chunk(block, PageMask::of(region), memory.dirty(*root), work);
    const SubChunk chunk{*root, 0, static_cast<std::uint16_t>(region.first),
                         static_cast<std::uint16_t>(region.page_count())};
    const auto behind =
        std::ranges::find_if(state.sub_chunks, [&](const SubChunk& c) { return c.first > chunk.first; });
    state.sub_chunks.insert(behind, chunk);
    missing.reset(region);
  }
  return true;
}

bool populate_gpu(DriverState& driver, BlockHandle handle, GpuIndex gpu, const PageMask& pages,
                  const DriverCosts& costs, BlockWork& work) {
  VaBlock& block = driver.block(handle);
  GpuBlockState& state = block.gpu(gpu);
  Pmm& memory = driver.memory(gpu);
  if (state.root != kNoRootChunk || pages.none()) return true;
  if (memory.chunk_pages() < kPagesPerBlock) return populate_big_pages(memory, handle, block, gpu, pages, costs, work);
  if (!block.whole()) {
    const bool first = state.sub_chunks.empty();
    const bool done = populate_ragged(memory, handle, block, gpu, pages, work);
    if (first && !state.sub_chunks.empty()) work.cpu += costs.new_chunk;
    return done;
  }
  const auto root = memory.take_root(handle, block.frame, block.region);
  if (!root) return false;
  state.root = *root;
  work.cpu += costs.new_chunk;
  zero_chunk(block, block.pages(), memory.dirty(*root), work);
  return true;
}

}  // namespace

PageRegion sub_chunk_region(PageRegion block, std::uint32_t page) {
  const std::uint32_t first = page / kPagesPerBigPage * kPagesPerBigPage;
  const PageRegion big{first, first + kPagesPerBigPage};
  return big.first >= block.first && big.outer <= block.outer ? big : PageRegion{page, page + 1};
}

Populated populate(DriverState& driver, BlockHandle handle, ProcessorId to, const PageMask& pages,
                   const DriverCosts& costs, BlockWork& work) {
  if (to.is_cpu()) {
    MoveCounts counts;
    counts.add(driver.host.populate(driver.block(handle), pages));
    work.cpu += counts.cost(costs, driver.host_pages);
    if (driver.host.exceeded()) work.host_out_of_memory = true;
    return Populated::Yes;
  }
  bool evicted = false;
  while (!populate_gpu(driver, handle, to.gpu_index(), pages, costs, work)) {
    evicted = true;
    if (evict_one(driver, to.gpu_index(), EvictFor::Operation, work.evictions)) continue;
    work.out_of_memory = true;
    return Populated::OutOfMemory;
  }
  if (evicted && driver.host.exceeded()) work.host_out_of_memory = true;
  return evicted ? Populated::AfterEviction : Populated::Yes;
}

}  // namespace uvmsim
