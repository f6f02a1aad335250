// GPU memory in 2 MiB root chunks: which are free, which back blocks, and in which order they would be evicted.
//
// Source: driver specification, sections 4.1 and 4.2; uvm_pmm_gpu.c. Knows nothing about pages of blocks: whoever
// evicts asks for a victim, moves the pages out, and hands the chunk back.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "uvm/eviction/eviction_policy.h"
#include "uvm/va_block.h"

namespace uvmsim {

class Pmm {
 public:
  // A part of a split root chunk and the ragged block it backs.
  struct Piece {
    BlockHandle owner;
    SubChunk chunk;
  };

  // `chunk_pages`: pages of a root chunk; 512 in the driver.
  Pmm(std::int64_t total_chunks, std::uint32_t chunk_pages, std::unique_ptr<EvictionPolicy> policy);
  // What the policy sees; must outlive this object. Before anything is allocated.
  void show(const EvictionView& view) { view_ = &view; }
  EvictionPolicy& policy() const { return *policy_; }

  std::int64_t total() const { return total_; }
  std::int64_t free() const { return total_ - device_ - managed_; }
  std::int64_t device() const { return device_; }
  std::uint32_t chunk_pages() const { return chunk_pages_; }
  std::int64_t chunk_bytes() const { return chunk_pages_ * kPageBytes; }

  // --- allocation inside one operation: what it takes is pinned until `unpin`.
  // A root chunk for pages of `frame`; nullopt when one must be evicted first.
  std::optional<RootChunkIndex> take_root(BlockHandle owner, FrameIndex frame, PageRegion pages);
  // `pages` (1 or 16) aligned pages of a split root chunk, for pages from `first` of the frame.
  std::optional<SubChunk> take_sub_chunk(BlockHandle owner, FrameIndex frame, std::uint32_t first, std::uint32_t pages);
  // Whether the chunk's memory may hold old data (evicted and handed on without scrubbing).
  bool dirty(RootChunkIndex root) const { return chunks_[root].dirty; }
  bool dirty(const SubChunk& chunk) const;
  // Whether pieces of blocks share the chunk, or may.
  bool is_split(RootChunkIndex root) const { return splits_.contains(root); }
  // Ends the operation: its chunks go to the tail of the used list; evicted chunks it did not need become free.
  void unpin();
  // Chunks that operations from here on make resident belong to a new fault batch.
  void begin_batch() { ++batch_; }

  // --- the lists
  // Section 4.2 (ii): pages of the whole block behind `root` were made resident.
  void touch(RootChunkIndex root);
  void move_to(ChunkList list, RootChunkIndex root);
  ChunkList list_of(RootChunkIndex root) const;
  // Pages of the chunk were discarded; a kernel accessed some.
  void note_discarded(RootChunkIndex root) { policy_->on_discarded(*view_, root); }
  void note_accessed(RootChunkIndex root) { policy_->on_accessed(*view_, root); }
  // A listed chunk is on its way in: not evictable until `let_go`.
  void hold(RootChunkIndex root);
  void let_go(RootChunkIndex root);

  // --- freeing
  void free_root(RootChunkIndex root);
  void free_sub_chunk(const SubChunk& chunk);
  // A whole block was cut: its root chunk becomes split, with one piece per part.
  void split_root(RootChunkIndex root, const std::vector<Piece>& pieces);
  // A piece changes hands or shape when its block is cut.
  void replace_pieces(RootChunkIndex root, BlockHandle owner, const std::vector<Piece>& pieces);

  // --- eviction: a victim, or nullopt when no chunk is evictable. The victim leaves its list; when its pages are
  // out, `evicted` keeps it for the running operation, and `evicted_for_good` frees it.
  std::optional<RootChunkIndex> begin_eviction();
  // What the policy wants to go along with it.
  std::vector<RootChunkIndex> more_victims(RootChunkIndex victim);
  // The victim's pages are still on their way out when the operation ends; `evicted_for_good` follows.
  void leave_in_eviction(RootChunkIndex root);
  // The parts of the victim: one for a whole block.
  std::vector<Piece> pieces(RootChunkIndex root) const;
  void evicted(RootChunkIndex root);
  void evicted_for_good(RootChunkIndex root);
  std::int64_t evictable_count() const;
  std::int64_t held_count() const { return held_; }

  // --- cudaMalloc: `chunks` free root chunks leave (negative: come back).
  void take_device(std::int64_t chunks) { device_ += chunks; }

  // --- for EvictionView
  RootChunkIndex chunk_count() const { return static_cast<RootChunkIndex>(chunks_.size()); }
  bool on_list(RootChunkIndex chunk) const { return chunks_[chunk].where == Where::Listed; }
  // Made resident by an operation of the current fault batch.
  bool fresh(RootChunkIndex chunk) const { return chunks_[chunk].batch == batch_; }
  RootChunkIndex head(ChunkList list) const;
  RootChunkIndex next(RootChunkIndex chunk) const;
  std::int64_t listed(ChunkList which) const { return static_cast<std::int64_t>(list(which).size()); }
  FrameIndex frame(RootChunkIndex chunk) const { return chunks_[chunk].frame; }
  PageRegion pages(RootChunkIndex chunk) const { return chunks_[chunk].pages; }
  int va_space(RootChunkIndex chunk) const { return chunks_[chunk].owner.va_space; }

  // Counts add up and each chunk is in one place (design style 4.3, item 4); aborts otherwise.
  void audit() const;

 private:
  enum class Where : std::uint8_t { Free, Pinned, Listed, Held, InEviction, Leaving, Parked };
  struct RootChunk : boost::intrusive::list_base_hook<> {
    RootChunkIndex index = 0;
    Where where = Where::Free;
    ChunkList list = ChunkList::Used;
    bool dirty = false;
    BlockHandle owner;
    FrameIndex frame{};
    PageRegion pages;
    std::uint32_t batch = 0;  // that last made pages of it resident
  };
  struct Split {
    PageMask used;                          // pages of the chunk that back a piece
    PageMask dirty;                         // pages that may hold old data
    std::map<std::uint32_t, Piece> pieces;  // by first page inside the chunk
  };
  using List = boost::intrusive::list<RootChunk>;

  RootChunk* obtain_root();
  void take_victim(RootChunkIndex victim);
  void pin(RootChunk& chunk);
  void release(RootChunk& chunk);
  void unlist(RootChunk& chunk);
  List& list(ChunkList which) { return lists_[static_cast<std::size_t>(which)]; }
  const List& list(ChunkList which) const { return lists_[static_cast<std::size_t>(which)]; }
  // Free aligned pages in split chunks; a 4 KiB piece prefers a 64 KiB page already cut up.
  std::optional<SubChunk> find_split(std::uint32_t pages) const;
  // Files a split chunk under what it has free, after a change or (split gone) before it is something else.
  void file_split(RootChunkIndex root);

  std::int64_t total_, device_ = 0, managed_ = 0;  // managed_: every chunk not Free
  std::uint32_t chunk_pages_;
  std::unique_ptr<EvictionPolicy> policy_;
  const EvictionView* view_ = nullptr;
  std::uint32_t batch_ = 1;
  std::int64_t held_ = 0, leaving_ = 0;
  std::deque<RootChunk> chunks_;  // those ever used; addresses are stable
  std::vector<RootChunkIndex> free_;
  std::array<List, kChunkLists> lists_;
  std::vector<RootChunkIndex> pinned_, parked_;
  std::map<RootChunkIndex, Split> splits_;
  std::set<RootChunkIndex> with_big_page_;     // split chunks with a free 64 KiB page
  std::set<RootChunkIndex> with_small_pages_;  // split chunks with a 64 KiB page in partial use
};

}  // namespace uvmsim
