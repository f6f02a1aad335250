#include "uvm/eviction/chunk_order.h"

namespace uvmsim {
namespace {

// Furthest next use in the program's own future (Belady): no other choice brings fewer chunks in, as long as nothing
// is prefetched. A reference: time also depends on what each miss costs.
class Clairvoyant final : public EvictionPolicy {
 public:
  EvictionNeeds needs() const override { return {.accesses = true, .future = true}; }
  RootChunkIndex victim(const EvictionView& view) override {
    if (const RootChunkIndex unused = view.head(ChunkList::Unused); unused != kNoRootChunk) return unused;
    RootChunkIndex running = kNoRootChunk;  // of those the running kernel needs, the one it needs last
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (!view.evictable(it->second)) continue;
      if (!view.in_use(it->second)) return it->second;
      if (running == kNoRootChunk) running = it->second;
    }
    return running == kNoRootChunk ? driver_victim(view) : running;
  }
  void on_made_resident(const EvictionView& view, RootChunkIndex chunk) override { file(view, chunk); }
  void on_accessed(const EvictionView& view, RootChunkIndex chunk) override { file(view, chunk); }
  void on_freed(RootChunkIndex chunk) override { order_.erase(chunk); }

 private:
  void file(const EvictionView& view, RootChunkIndex chunk) { order_.set(chunk, view.next_use(chunk)); }
  ChunkOrder<ProgramPosition> order_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, Clairvoyant>(
    {.name = "clairvoyant",
     .summary = "evict the root chunk whose next use is furthest away: a reference",
     .source = "Belady, IBM Systems Journal 1966",
     .on_hardware = "not possible: it knows the future"});

}  // namespace
}  // namespace uvmsim
