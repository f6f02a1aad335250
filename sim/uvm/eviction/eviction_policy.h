// Eviction policies answer "which root chunk should make room?".
//
// A policy decides and never acts: it sees the chunk lists and names a victim; the driver evicts it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/page_mask.h"
#include "base/registry.h"
#include "base/units.h"
#include "uvm/eviction/root_chunk.h"

namespace uvmsim {

// A moment of a program: the operation's index in Program::ops, and how far its kernel is, in 65536ths.
using ProgramPosition = std::uint64_t;
inline constexpr ProgramPosition kNeverUsed = ~ProgramPosition{0};

// Pages of one chunk.
struct ChunkContents {
  int resident = 0;   // on this GPU
  int discarded = 0;  // of these: contents not needed (UvmDiscard)
  int inactive = 0;   // of these: in no tensor; the framework's allocator holds them free
};

// What a policy asks for beyond what the driver knows. What nobody asks for costs nothing.
struct EvictionNeeds {
  bool accesses = false;        // on_accessed; EvictionView::in_use
  bool future = false;          // EvictionView::next_use
  bool tensors = false;         // inactive pages; EvictionView::holds_only
  bool drops_inactive = false;  // inactive pages of a victim are dropped, not copied; needs `tensors`
  bool ahead = false;           // wants_free is asked after each operation
};

// What a policy may look at.
class EvictionView {
 public:
  virtual ~EvictionView() = default;
  // Chunks have indices 0 .. chunk_count() - 1.
  virtual RootChunkIndex chunk_count() const = 0;
  // On a list: allocated, not pinned by the running operation, nor on its way in or out. What the fault batch in
  // progress brought is spared while there is anything else: a policy that evicts the newest would make no progress.
  virtual bool evictable(RootChunkIndex chunk) const = 0;
  // The first chunk of a list, and the one behind a listed chunk; kNoRootChunk at the end.
  virtual RootChunkIndex head(ChunkList list) const = 0;
  virtual RootChunkIndex next(RootChunkIndex chunk) const = 0;
  // Chunks on a list; of the GPU's memory; of that, neither used nor taken by cudaMalloc.
  virtual std::int64_t listed(ChunkList list) const = 0;
  virtual std::int64_t total_chunks() const = 0;
  virtual std::int64_t free_chunks() const = 0;
  // The frame the chunk backs (the first one, when ragged blocks share the chunk), its pages of it, and its VaSpace.
  virtual FrameIndex frame(RootChunkIndex chunk) const = 0;
  virtual PageRegion pages(RootChunkIndex chunk) const = 0;
  virtual int va_space(RootChunkIndex chunk) const = 0;
  virtual ChunkContents contents(RootChunkIndex chunk) const = 0;
  // Chunks that back the same frame as `chunk`, itself included, ascending by page.
  virtual std::vector<RootChunkIndex> neighbours(RootChunkIndex chunk) const = 0;
  // Whether every tensor in the chunk is of one of these kinds (names as in Program::kinds), and there is one.
  virtual bool holds_only(RootChunkIndex chunk, const std::vector<std::string>& kinds) const = 0;
  // Whether the prefetch policy expects accesses to the chunk's block soon.
  virtual bool expected(RootChunkIndex chunk) const = 0;
  // Whether the running kernel may still touch the chunk, and when the program does next after that.
  virtual bool in_use(RootChunkIndex chunk) const = 0;
  virtual ProgramPosition next_use(RootChunkIndex chunk) const = 0;
};

// One is made for each GPU.
class EvictionPolicy {
 public:
  static constexpr KindText kKind{.name = "eviction",
                                  .noun = "eviction policy",
                                  .use = "driver.eviction_policy",
                                  .options = "driver.eviction_options"};
  using Factory = uvmsim::Factory<EvictionPolicy>;
  template <class P>
  using FactoryOf = uvmsim::FactoryOf<P, EvictionPolicy>;

  virtual ~EvictionPolicy() = default;
  virtual EvictionNeeds needs() const { return {}; }
  // An evictable chunk. Called only when there is one.
  virtual RootChunkIndex victim(const EvictionView& view) = 0;
  // Evictable chunks to go along with `victim`, which has left its list.
  virtual std::vector<RootChunkIndex> more_victims(const EvictionView&, RootChunkIndex /*victim*/) { return {}; }
  // A service or migration made pages of the chunk's block resident (not: an access that hit).
  virtual void on_made_resident(const EvictionView&, RootChunkIndex) {}
  // A kernel touched pages of the chunk. Once per kernel and chunk, in the order of the kernel's progress as far as
  // faults show it.
  virtual void on_accessed(const EvictionView&, RootChunkIndex) {}
  // Pages of the chunk were discarded.
  virtual void on_discarded(const EvictionView&, RootChunkIndex) {}
  // The chunk backs nothing any more.
  virtual void on_freed(RootChunkIndex) {}
  // Whether one more chunk should be evicted in the background, ahead of need. `victim` names it.
  virtual bool wants_free(const EvictionView&) { return false; }
};

// The driver's own choice, for policies that have none: head of unused, then discarded, then used.
RootChunkIndex driver_victim(const EvictionView& view);
// The first evictable chunk for which `accept` holds in the driver's order; the driver's choice when there is none.
template <class Accept>
RootChunkIndex first_in_driver_order(const EvictionView& view, Accept&& accept) {
  for (const ChunkList list : kAllChunkLists)
    for (RootChunkIndex chunk = view.head(list); chunk != kNoRootChunk; chunk = view.next(chunk))
      if (view.evictable(chunk) && accept(chunk)) return chunk;
  return driver_victim(view);
}

inline Registry<EvictionPolicy>& eviction_policies() { return registry<EvictionPolicy>(); }

}  // namespace uvmsim
