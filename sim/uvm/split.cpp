#include "uvm/split.h"

#include <algorithm>
#include <map>

#include "uvm/make_resident.h"
#include "uvm/thrashing.h"

namespace uvmsim {
namespace {

// The sub-chunks a ragged block has for the part of `behind` that it covers. `behind` is memory the undivided
// block had: pages of the frame, contiguous in a root chunk.
std::vector<SubChunk> cut_to_block(const SubChunk& behind, PageRegion block) {
  std::vector<SubChunk> out;
  const PageRegion all = behind.region();
  const std::uint32_t outer = std::min(all.outer, block.outer);
  for (std::uint32_t page = std::max(all.first, block.first); page < outer;) {
    PageRegion region = sub_chunk_region(block, page);
    if (region.first < all.first || region.outer > all.outer) region = {page, page + 1};
    out.push_back({behind.root, static_cast<std::uint16_t>(behind.offset + (region.first - all.first)),
                   static_cast<std::uint16_t>(region.first), static_cast<std::uint16_t>(region.page_count())});
    page = region.outer;
  }
  return out;
}

void split_gpu_chunks(Pmm& memory, BlockHandle front, PageRegion front_region, BlockHandle back, PageRegion back_region,
                      GpuBlockState& from, GpuBlockState& to) {
  const bool whole = from.root != kNoRootChunk;
  std::vector<SubChunk> before = std::move(from.sub_chunks);
  if (whole) before = {{from.root, 0, 0, kPagesPerBlock}};
  from.root = kNoRootChunk;
  from.sub_chunks.clear();
  std::map<RootChunkIndex, std::vector<Pmm::Piece>> pieces;
  for (const SubChunk& chunk : before) {
    for (const SubChunk& part : cut_to_block(chunk, front_region)) {
      from.sub_chunks.push_back(part);
      pieces[chunk.root].push_back({front, part});
    }
    for (const SubChunk& part : cut_to_block(chunk, back_region)) {
      to.sub_chunks.push_back(part);
      pieces[chunk.root].push_back({back, part});
    }
  }
  for (const auto& [root, parts] : pieces) {
    if (memory.is_split(root))
      memory.replace_pieces(root, front, parts);
    else
      memory.split_root(root, parts);
  }
}

void move_bits(PageMask& from, PageMask& to, const PageMask& pages) {
  to |= from & pages;
  from -= pages;
}

}  // namespace

void split_block(DriverState& driver, BlockHandle handle, std::uint32_t page) {
  VaSpace& space = driver.space(handle.va_space);
  const BlockHandle back_handle = space.split_off(handle, page);
  VaBlock& front = space.block(handle.index);
  VaBlock& back = space.block(back_handle.index);
  const PageMask behind = back.pages();
  for (GpuBlockState& state : front.gpus) {
    GpuBlockState& moved = back.gpu(state.gpu);
    for (PageMask GpuBlockState::*mask :
         {&GpuBlockState::resident, &GpuBlockState::pte_read, &GpuBlockState::pte_write, &GpuBlockState::unread})
      move_bits(state.*mask, moved.*mask, behind);
    split_gpu_chunks(driver.memory(state.gpu), handle, front.region, back_handle, back.region, state, moved);
  }
  move_bits(front.cpu.resident, back.cpu.resident, behind);
  move_bits(front.cpu.mapped, back.cpu.mapped, behind);
  split_host_chunks(front, back);
  if (!front.rare) return;
  front.rare->thrashing.reset();  // the driver forgets it, too (UVM_PERF_EVENT_BLOCK_SHRINK)
  RareBlockState& rare = back.make_rare();
  move_bits(front.rare->read_duplicated, rare.read_duplicated, behind);
  move_bits(front.rare->discarded, rare.discarded, behind);
  move_bits(front.rare->cpu_read_only, rare.cpu_read_only, behind);
}

}  // namespace uvmsim
