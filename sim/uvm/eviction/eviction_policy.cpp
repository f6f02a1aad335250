#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {

EvictionRegistry& eviction_policies() {
  static EvictionRegistry registry;
  return registry;
}

RootChunkIndex driver_victim(const EvictionView& view) {
  for (const ChunkList list : kAllChunkLists)
    if (const RootChunkIndex chunk = view.head(list); chunk != kNoRootChunk) return chunk;
  return kNoRootChunk;
}

}  // namespace uvmsim
