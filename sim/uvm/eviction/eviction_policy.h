// Eviction policies answer "which root chunk should make room?".
//
// A policy decides and never acts: it sees the chunk lists and names a victim; the driver evicts it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/registry.h"
#include "base/units.h"

namespace uvmsim {

// A 2 MiB root chunk of one GPU.
using RootChunkIndex = std::uint32_t;
inline constexpr RootChunkIndex kNoRootChunk = 0xffffffff;

// The driver's lists of allocated root chunks, in the order it searches them (uvm_pmm_gpu.h:
// uvm_pmm_alloc_list_t; section 4.2).
enum class ChunkList : std::uint8_t { Unused, Discarded, Used };
inline constexpr int kChunkLists = 3;

// What a policy may look at.
class EvictionView {
 public:
  virtual ~EvictionView() = default;
  // Chunks have indices 0 .. chunk_count() - 1.
  virtual RootChunkIndex chunk_count() const = 0;
  // On a list: allocated, not pinned by the running operation, not being evicted.
  virtual bool evictable(RootChunkIndex chunk) const = 0;
  // The first chunk of a list, and the one behind an evictable chunk; kNoRootChunk at the end.
  virtual RootChunkIndex head(ChunkList list) const = 0;
  virtual RootChunkIndex next(RootChunkIndex chunk) const = 0;
  // The frame the chunk backs (the first one, when ragged blocks share the chunk) and its VaSpace.
  virtual FrameIndex frame(RootChunkIndex chunk) const = 0;
  virtual int va_space(RootChunkIndex chunk) const = 0;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // An evictable chunk. Called only when there is one.
  virtual RootChunkIndex victim(const EvictionView& view) = 0;
  // A service or migration made pages of the chunk's block resident (not: an access that hit).
  virtual void on_made_resident(RootChunkIndex) {}
  // The chunk backs nothing any more.
  virtual void on_freed(RootChunkIndex) {}
};

using EvictionRegistry = Registry<std::unique_ptr<EvictionPolicy>()>;
EvictionRegistry& eviction_policies();

}  // namespace uvmsim
