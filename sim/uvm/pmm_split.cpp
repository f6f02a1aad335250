// Root chunks split into sub-chunks, for ragged blocks. Section 4.1: split on demand, merged when free.
#include "base/check.h"
#include "uvm/pmm.h"

namespace uvmsim {
namespace {

// The first free run of `pages` aligned pages; 512 when there is none. For one page, a 64 KiB page in partial
// use comes first, so that whole ones stay whole.
std::uint32_t find_free(const PageMask& used, std::uint32_t pages) {
  std::uint32_t whole = kPagesPerBlock;
  for (std::uint32_t first = 0; first < kPagesPerBlock; first += kPagesPerBigPage) {
    const int taken = used.count(PageRegion{first, first + kPagesPerBigPage});
    if (taken == 0 && whole == kPagesPerBlock) whole = first;
    if (pages == 1 && taken > 0 && taken < static_cast<int>(kPagesPerBigPage)) return used.next_clear(first);
  }
  return whole;
}

}  // namespace

std::optional<SubChunk> Pmm::find_split(std::uint32_t pages) const {
  for (const RootChunkIndex root : open_splits_)
    if (const std::uint32_t offset = find_free(splits_.at(root).used, pages); offset < kPagesPerBlock)
      return SubChunk{root, static_cast<std::uint16_t>(offset), 0, static_cast<std::uint16_t>(pages)};
  return std::nullopt;
}

std::optional<SubChunk> Pmm::take_sub_chunk(BlockHandle owner, FrameIndex frame, std::uint32_t first,
                                            std::uint32_t pages) {
  UVMSIM_CHECK(pages == 1 || pages == kPagesPerBigPage, "a sub-chunk is 4 KiB or 64 KiB");
  std::optional<SubChunk> chunk = find_split(pages);
  if (!chunk) {
    RootChunk* root = obtain_root();
    if (root == nullptr) return std::nullopt;
    root->owner = owner;
    root->frame = frame;
    Split& split = splits_[root->index];
    if (root->dirty) split.dirty = PageMask::all();
    chunk = SubChunk{root->index, 0, 0, static_cast<std::uint16_t>(pages)};
  }
  chunk->first = static_cast<std::uint16_t>(first);
  Split& split = splits_.at(chunk->root);
  split.used.set(PageRegion{chunk->offset, chunk->offset + pages});
  split.pieces.emplace(chunk->offset, Piece{owner, *chunk});
  if (split.used.full())
    open_splits_.erase(chunk->root);
  else
    open_splits_.insert(chunk->root);
  pin(chunks_[chunk->root]);
  return chunk;
}

bool Pmm::dirty(const SubChunk& chunk) const {
  const PageRegion part{chunk.offset, std::uint32_t{chunk.offset} + chunk.pages};
  return splits_.at(chunk.root).dirty.count(part) > 0;
}

void Pmm::free_sub_chunk(const SubChunk& chunk) {
  const auto it = splits_.find(chunk.root);
  UVMSIM_CHECK(it != splits_.end() && it->second.pieces.erase(chunk.offset) == 1, "a sub-chunk was freed twice");
  Split& split = it->second;
  const PageRegion part{chunk.offset, std::uint32_t{chunk.offset} + chunk.pages};
  split.used.reset(part);
  split.dirty.set(part);
  if (split.used.none()) {
    splits_.erase(it);
    open_splits_.erase(chunk.root);
    release(chunks_[chunk.root]);
    return;
  }
  open_splits_.insert(chunk.root);
  move_to(ChunkList::Used, chunk.root);  // section 4.2 (i)
}

void Pmm::split_root(RootChunkIndex root, const std::vector<Piece>& pieces) {
  Split& split = splits_[root];
  for (const Piece& piece : pieces) {
    split.used.set(PageRegion{piece.chunk.offset, std::uint32_t{piece.chunk.offset} + piece.chunk.pages});
    split.pieces.emplace(piece.chunk.offset, piece);
  }
  if (!split.used.full()) open_splits_.insert(root);
}

void Pmm::replace_pieces(RootChunkIndex root, BlockHandle owner, const std::vector<Piece>& pieces) {
  Split& split = splits_.at(root);
  std::erase_if(split.pieces, [&](const auto& entry) { return entry.second.owner == owner; });
  for (const Piece& piece : pieces) split.pieces.emplace(piece.chunk.offset, piece);
}

}  // namespace uvmsim
