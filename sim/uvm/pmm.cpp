#include "uvm/pmm.h"

#include <algorithm>

#include "base/check.h"
#include "uvm/free_pages.h"

namespace uvmsim {

Pmm::Pmm(std::int64_t total_chunks, std::uint32_t chunk_pages, std::unique_ptr<EvictionPolicy> policy)
    : total_(total_chunks), chunk_pages_(chunk_pages), policy_(std::move(policy)) {}

Pmm::RootChunk* Pmm::obtain_root() {
  if (!parked_.empty()) {
    RootChunk& chunk = chunks_[parked_.back()];
    parked_.pop_back();
    return &chunk;
  }
  if (free() <= 0) return nullptr;
  ++managed_;
  if (free_.empty()) {
    RootChunk& chunk = chunks_.emplace_back();
    chunk.index = static_cast<RootChunkIndex>(chunks_.size() - 1);
    return &chunk;
  }
  RootChunk& chunk = chunks_[free_.back()];
  free_.pop_back();
  return &chunk;
}

void Pmm::pin(RootChunk& chunk) {
  if (chunk.where == Where::Pinned || chunk.where == Where::Held) return;
  if (chunk.where == Where::Listed) unlist(chunk);
  chunk.where = Where::Pinned;
  pinned_.push_back(chunk.index);
}

void Pmm::unlist(RootChunk& chunk) { list(chunk.list).erase(List::s_iterator_to(chunk)); }

std::optional<RootChunkIndex> Pmm::take_root(BlockHandle owner, FrameIndex frame, PageRegion pages) {
  RootChunk* chunk = obtain_root();
  if (chunk == nullptr) return std::nullopt;
  chunk->owner = owner;
  chunk->frame = frame;
  chunk->pages = pages;
  pin(*chunk);
  return chunk->index;
}

void Pmm::unpin() {
  for (const RootChunkIndex index : pinned_) {
    RootChunk& chunk = chunks_[index];
    if (chunk.where != Where::Pinned) continue;  // freed since
    chunk.where = Where::Listed;
    chunk.list = ChunkList::Used;
    list(ChunkList::Used).push_back(chunk);
    chunk.batch = batch_;
    policy_->on_made_resident(*view_, index);
  }
  pinned_.clear();
  for (const RootChunkIndex index : parked_) release(chunks_[index]);
  parked_.clear();
}

void Pmm::touch(RootChunkIndex root) {
  if (chunks_[root].where != Where::Listed) return;  // pinned: it is listed when the operation ends
  move_to(ChunkList::Used, root);
  chunks_[root].batch = batch_;
  policy_->on_made_resident(*view_, root);
}

void Pmm::hold(RootChunkIndex root) {
  RootChunk& chunk = chunks_[root];
  if (chunk.where != Where::Listed) return;
  unlist(chunk);
  chunk.where = Where::Held;
  ++held_;
}

void Pmm::let_go(RootChunkIndex root) {
  RootChunk& chunk = chunks_[root];
  if (chunk.where != Where::Held) return;  // freed meanwhile
  --held_;
  chunk.where = Where::Listed;
  chunk.list = ChunkList::Used;
  list(ChunkList::Used).push_back(chunk);
}

void Pmm::move_to(ChunkList which, RootChunkIndex root) {
  RootChunk& chunk = chunks_[root];
  if (chunk.where != Where::Listed) return;
  unlist(chunk);
  chunk.list = which;
  list(which).push_back(chunk);
}

ChunkList Pmm::list_of(RootChunkIndex root) const { return chunks_[root].list; }

void Pmm::release(RootChunk& chunk) {
  if (chunk.where == Where::Listed) unlist(chunk);
  if (chunk.where == Where::Held) --held_;
  chunk.where = Where::Free;
  chunk.dirty = false;  // freed memory is scrubbed by the resource manager before it is handed out again
  --managed_;
  free_.push_back(chunk.index);
  policy_->on_freed(chunk.index);
}

void Pmm::free_root(RootChunkIndex root) { release(chunks_[root]); }

std::optional<RootChunkIndex> Pmm::begin_eviction() {
  if (std::ranges::all_of(lists_, [](const List& l) { return l.empty(); })) return std::nullopt;
  const RootChunkIndex victim = policy_->victim(*view_);
  take_victim(victim);
  return victim;
}

std::vector<RootChunkIndex> Pmm::more_victims(RootChunkIndex victim) {
  std::vector<RootChunkIndex> more = policy_->more_victims(*view_, victim);
  for (const RootChunkIndex chunk : more) take_victim(chunk);
  return more;
}

void Pmm::take_victim(RootChunkIndex victim) {
  UVMSIM_CHECK(victim < chunks_.size() && on_list(victim), "an eviction policy named a chunk that is not evictable");
  unlist(chunks_[victim]);
  chunks_[victim].where = Where::InEviction;
}

std::vector<Pmm::Piece> Pmm::pieces(RootChunkIndex root) const {
  std::vector<Piece> out;
  if (const auto split = splits_.find(root); split != splits_.end())
    for (const auto& [offset, piece] : split->second.pieces) out.push_back(piece);
  else
    out.push_back({chunks_[root].owner,
                   {root, 0, static_cast<std::uint16_t>(chunks_[root].pages.first),
                    static_cast<std::uint16_t>(chunks_[root].pages.page_count())}});
  return out;
}

void Pmm::evicted(RootChunkIndex root) {
  splits_.erase(root);
  file_split(root);
  chunks_[root].where = Where::Parked;
  chunks_[root].dirty = true;
  parked_.push_back(root);
  policy_->on_freed(root);
}

void Pmm::leave_in_eviction(RootChunkIndex root) {
  splits_.erase(root);
  file_split(root);
  chunks_[root].where = Where::Leaving;
  ++leaving_;
}

void Pmm::evicted_for_good(RootChunkIndex root) {
  splits_.erase(root);
  file_split(root);
  if (chunks_[root].where == Where::Leaving) --leaving_;
  release(chunks_[root]);
}

std::int64_t Pmm::evictable_count() const {
  std::size_t n = 0;
  for (const List& l : lists_) n += l.size();
  return static_cast<std::int64_t>(n);
}

RootChunkIndex Pmm::head(ChunkList which) const {
  const List& l = list(which);
  return l.empty() ? kNoRootChunk : l.front().index;
}

RootChunkIndex Pmm::next(RootChunkIndex chunk) const {
  const RootChunk& c = chunks_[chunk];
  const auto it = std::next(List::s_iterator_to(c));
  return it == list(c.list).end() ? kNoRootChunk : it->index;
}

void Pmm::audit() const {
  std::int64_t listed = 0, elsewhere = 0;
  for (const RootChunk& chunk : chunks_) {
    listed += chunk.where == Where::Listed;
    elsewhere += chunk.where != Where::Listed && chunk.where != Where::Free;
    UVMSIM_CHECK(chunk.is_linked() == (chunk.where == Where::Listed), "a chunk is on a list exactly when evictable");
  }
  UVMSIM_CHECK(listed == evictable_count(), "the lists hold other chunks than those marked listed");
  UVMSIM_CHECK(elsewhere == held_ + leaving_, "a chunk is pinned or in eviction between operations");
  UVMSIM_CHECK(listed + elsewhere == managed_, "listed chunks and managed chunks differ");
  UVMSIM_CHECK(free() >= 0 && device_ >= 0, "more chunks are in use than the GPU has");
  for (const auto& [root, split] : splits_) {
    PageMask used;
    for (const auto& [offset, piece] : split.pieces) {
      const PageRegion part{offset, offset + piece.chunk.pages};
      UVMSIM_CHECK((used & PageMask::of(part)).none(), "two pieces of a root chunk overlap");
      used.set(part);
    }
    UVMSIM_CHECK(used == split.used && used.any(), "a split chunk's pieces and its used pages differ");
    UVMSIM_CHECK(has_free_big_page(used) == with_big_page_.contains(root) &&
                     has_partial_big_page(used) == with_small_pages_.contains(root),
                 "a split chunk is filed under what it does not have");
  }
}

}  // namespace uvmsim
