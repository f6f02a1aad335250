#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct ReservedOptions {
  double share = 0.1;
  static const Description& description() {
    static const Description d = Describe<ReservedOptions>("reserved: the oldest chunks stay")
                                     .number("share", &ReservedOptions::share,
                                             "of the used chunks, from the least recently serviced on, that are "
                                             "spared (assumed; UVMSmart's default is 0)",
                                             {0, 1})
                                     .build();
    return d;
  }
};

// The driver's order, but the oldest share of the used list is passed over: a cyclic scan over too much keeps that
// share instead of missing everywhere.
class Reserved final : public EvictionPolicy {
 public:
  using Options = ReservedOptions;
  explicit Reserved(const ReservedOptions& options) : share_(options.share) {}
  RootChunkIndex victim(const EvictionView& view) override {
    for (const ChunkList list : {ChunkList::Unused, ChunkList::Discarded})
      if (const RootChunkIndex chunk = view.head(list); chunk != kNoRootChunk) return chunk;
    auto skip = static_cast<std::int64_t>(share_ * static_cast<double>(view.listed(ChunkList::Used)));
    RootChunkIndex last = view.head(ChunkList::Used);
    for (RootChunkIndex chunk = last; chunk != kNoRootChunk; chunk = view.next(chunk)) {
      if (view.evictable(chunk)) last = chunk;
      if (skip-- <= 0 && view.evictable(chunk)) return chunk;
    }
    return last;
  }

 private:
  double share_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, Reserved>(
    {.name = "reserved",
     .summary = "the driver's order, but a share of the oldest chunks is spared",
     .source = "Ganguly et al., ISCA 2019: reserve_accessed_page_percent of UVMSmart",
     .on_hardware = "another nvidia-uvm: pick_root_chunk_to_evict"});

}  // namespace
}  // namespace uvmsim
