#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

// The driver's order: head of unused, then discarded, then used. Within a list the head is the chunk least
// recently serviced: accesses that hit leave no trace, so a hot block that never faults drifts to the head.
class DriverLists final : public EvictionPolicy {
 public:
  RootChunkIndex victim(const EvictionView& view) override {
    for (const ChunkList list : {ChunkList::Unused, ChunkList::Discarded, ChunkList::Used})
      if (const RootChunkIndex chunk = view.head(list); chunk != kNoRootChunk) return chunk;
    return kNoRootChunk;
  }
};

const bool kRegistered = eviction_policies().add(
    {"driver", "evict an unused, then a discarded, then the least recently serviced root chunk",
     "uvm_pmm_gpu.c: pick_root_chunk_to_evict", [] { return std::make_unique<DriverLists>(); }});

}  // namespace
}  // namespace uvmsim
