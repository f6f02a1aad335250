#include "uvm/eviction/chunk_order.h"

namespace uvmsim {
namespace {

// The chunk with the most discarded pages first, also when others of its pages are still needed; the driver only
// prefers chunks all of whose pages were discarded.
class DiscardedFirst final : public EvictionPolicy {
 public:
  RootChunkIndex victim(const EvictionView& view) override {
    if (const RootChunkIndex unused = view.head(ChunkList::Unused); unused != kNoRootChunk) return unused;
    const RootChunkIndex chunk = order_.largest(view);
    return chunk == kNoRootChunk ? driver_victim(view) : chunk;
  }
  void on_made_resident(const EvictionView& view, RootChunkIndex chunk) override { file(view, chunk); }
  void on_discarded(const EvictionView& view, RootChunkIndex chunk) override { file(view, chunk); }
  void on_freed(RootChunkIndex chunk) override { order_.erase(chunk); }

 private:
  void file(const EvictionView& view, RootChunkIndex chunk) {
    const int discarded = view.contents(chunk).discarded;
    if (discarded > 0)
      order_.set(chunk, discarded);
    else
      order_.erase(chunk);
  }
  ChunkOrder<int> order_;  // by discarded pages
};

const bool kRegistered = add_plug_in<EvictionPolicy, DiscardedFirst>(
    {.name = "discarded_first",
     .summary = "evict the root chunk with the most discarded pages, then in the driver's order",
     .source = "Zhu et al., IISWC 2022 (UVM discard)",
     .on_hardware = "another nvidia-uvm; without it, driver 590 and later prefer chunks discarded as a whole"});

}  // namespace
}  // namespace uvmsim
