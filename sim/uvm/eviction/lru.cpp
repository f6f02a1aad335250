#include "uvm/eviction/chunk_order.h"

namespace uvmsim {
namespace {

// Least recently accessed by a kernel, hits included: what the driver's list would be if the GPU told it of accesses.
// A program whose kernels read the same weights in every layer keeps them.
class LeastRecentlyUsed final : public EvictionPolicy {
 public:
  EvictionNeeds needs() const override { return {.accesses = true}; }
  RootChunkIndex victim(const EvictionView& view) override {
    const RootChunkIndex chunk = order_.smallest(view);
    return chunk == kNoRootChunk ? driver_victim(view) : chunk;
  }
  void on_made_resident(const EvictionView&, RootChunkIndex chunk) override { order_.set(chunk, ++clock_); }
  void on_accessed(const EvictionView&, RootChunkIndex chunk) override { order_.set(chunk, ++clock_); }
  void on_freed(RootChunkIndex chunk) override { order_.erase(chunk); }

 private:
  std::uint64_t clock_ = 0;
  ChunkOrder<std::uint64_t> order_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, LeastRecentlyUsed>(
    {.name = "lru",
     .summary = "evict the root chunk that kernels accessed least recently",
     .source = "Ganguly et al., ISCA 2019; its absence is the driver's bug 1765193",
     .on_hardware = "not possible: no GPU reports accesses that hit (access counters count remote ones)"});

}  // namespace
}  // namespace uvmsim
