// Root chunks split into sub-chunks, for ragged blocks. Section 4.1: split on demand, merged when free.
#include "base/check.h"
#include "uvm/free_pages.h"
#include "uvm/pmm.h"

namespace uvmsim {

std::optional<SubChunk> Pmm::find_split(std::uint32_t pages) const {
  const std::set<RootChunkIndex>& roots = pages == 1 && !with_small_pages_.empty() ? with_small_pages_ : with_big_page_;
  if (roots.empty()) return std::nullopt;
  const RootChunkIndex root = *roots.begin();
  const std::uint32_t offset = find_free_pages(splits_.at(root).used, pages);
  return SubChunk{root, static_cast<std::uint16_t>(offset), 0, static_cast<std::uint16_t>(pages)};
}

void Pmm::file_split(RootChunkIndex root) {
  const auto it = splits_.find(root);
  const auto file = [&](std::set<RootChunkIndex>& under, bool belongs) {
    if (belongs)
      under.insert(root);
    else
      under.erase(root);
  };
  file(with_big_page_, it != splits_.end() && has_free_big_page(it->second.used));
  file(with_small_pages_, it != splits_.end() && has_partial_big_page(it->second.used));
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
    root->pages = {0, kPagesPerBlock};
    Split& split = splits_[root->index];
    if (root->dirty) split.dirty = PageMask::all();
    chunk = SubChunk{root->index, 0, 0, static_cast<std::uint16_t>(pages)};
  }
  chunk->first = static_cast<std::uint16_t>(first);
  Split& split = splits_.at(chunk->root);
  split.used.set(PageRegion{chunk->offset, chunk->offset + pages});
  split.pieces.emplace(chunk->offset, Piece{owner, *chunk});
  file_split(chunk->root);
  pin(chunks_[chunk->root]);
  return chunk;
}

bool Pmm::dirty(const SubChunk& chunk) const {
  if (!is_split(chunk.root)) return dirty(chunk.root);
  const PageRegion part{chunk.offset, std::uint32_t{chunk.offset} + chunk.pages};
  return splits_.at(chunk.root).dirty.count(part) > 0;
}

void Pmm::free_sub_chunk(const SubChunk& chunk) {
  if (!is_split(chunk.root)) return free_root(chunk.root);
  const auto it = splits_.find(chunk.root);
  UVMSIM_CHECK(it != splits_.end() && it->second.pieces.erase(chunk.offset) == 1, "a sub-chunk was freed twice");
  Split& split = it->second;
  const PageRegion part{chunk.offset, std::uint32_t{chunk.offset} + chunk.pages};
  split.used.reset(part);
  split.dirty.set(part);
  if (split.used.none()) {
    splits_.erase(it);
    file_split(chunk.root);
    release(chunks_[chunk.root]);
    return;
  }
  file_split(chunk.root);
  move_to(ChunkList::Used, chunk.root);  // section 4.2 (i)
}

void Pmm::split_root(RootChunkIndex root, const std::vector<Piece>& pieces) {
  Split& split = splits_[root];
  for (const Piece& piece : pieces) {
    split.used.set(PageRegion{piece.chunk.offset, std::uint32_t{piece.chunk.offset} + piece.chunk.pages});
    split.pieces.emplace(piece.chunk.offset, piece);
  }
  file_split(root);
}

void Pmm::replace_pieces(RootChunkIndex root, BlockHandle owner, const std::vector<Piece>& pieces) {
  Split& split = splits_.at(root);
  std::erase_if(split.pieces, [&](const auto& entry) { return entry.second.owner == owner; });
  for (const Piece& piece : pieces) split.pieces.emplace(piece.chunk.offset, piece);
}

}  // namespace uvmsim
