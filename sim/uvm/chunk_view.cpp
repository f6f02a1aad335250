#include "uvm/chunk_view.h"

#include <algorithm>

#include "uvm/driver_state.h"

namespace uvmsim {

bool ChunkView::only_fresh() const {
  return std::ranges::all_of(kAllChunkLists, [this](ChunkList list) {
    const RootChunkIndex oldest = memory_.head(list);
    return oldest == kNoRootChunk || memory_.fresh(oldest);
  });
}

const ProgramWatch* ChunkView::watch(RootChunkIndex chunk) const { return driver_.watch(va_space(chunk), gpu_); }

ChunkContents ChunkView::contents(RootChunkIndex chunk) const {
  ChunkContents out;
  for (const Pmm::Piece& piece : memory_.pieces(chunk)) {
    const VaBlock& block = driver_.block(piece.owner);
    const GpuBlockState* state = block.find_gpu(gpu_);
    if (state == nullptr) continue;
    const PageMask resident = state->resident & PageMask::of(piece.chunk.region());
    out.resident += resident.count();
    out.discarded += (resident & block.discarded()).count();
    if (const ProgramWatch* program = driver_.watch(piece.owner.va_space, gpu_); program != nullptr)
      out.inactive += (resident & program->inactive(block.frame)).count();
  }
  return out;
}

std::vector<RootChunkIndex> ChunkView::neighbours(RootChunkIndex chunk) const {
  std::vector<RootChunkIndex> out;
  const PageNumber base = first_page_of(frame(chunk));
  driver_.space(va_space(chunk)).for_each_block(base, base + kPagesPerBlock, [&](const VaBlock& block, BlockHandle) {
    if (const GpuBlockState* state = block.find_gpu(gpu_))
      for_each_chunk(*state, PageMask::all(), [&](RootChunkIndex c, PageRegion) { out.push_back(c); });
  });
  return out;
}

bool ChunkView::holds_only(RootChunkIndex chunk, const std::vector<std::string>& kinds) const {
  const ProgramWatch* program = watch(chunk);
  return program != nullptr && program->holds_only(frame(chunk), pages(chunk), kinds);
}

bool ChunkView::expected(RootChunkIndex chunk) const {
  return driver_.prefetch_of(gpu_).expects({va_space(chunk), frame(chunk)});
}

bool ChunkView::in_use(RootChunkIndex chunk) const {
  const ProgramWatch* program = watch(chunk);
  return program != nullptr && program->in_use(frame(chunk));
}

ProgramPosition ChunkView::next_use(RootChunkIndex chunk) const {
  const ProgramWatch* program = watch(chunk);
  return program == nullptr ? kNeverUsed : program->next_use(frame(chunk));
}

}  // namespace uvmsim
