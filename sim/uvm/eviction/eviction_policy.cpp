#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {

RootChunkIndex driver_victim(const EvictionView& view) {
  for (const ChunkList list : kAllChunkLists)
    if (const RootChunkIndex chunk = view.head(list); chunk != kNoRootChunk) return chunk;
  return kNoRootChunk;
}

}  // namespace uvmsim
