#include "uvm/eviction/chunk_order.h"

namespace uvmsim {
namespace {

// Fewest kernels since the chunk came; of these the one accessed longest ago.
class LeastFrequentlyUsed final : public EvictionPolicy {
 public:
  EvictionNeeds needs() const override { return {.accesses = true}; }
  RootChunkIndex victim(const EvictionView& view) override {
    const RootChunkIndex chunk = order_.smallest(view);
    return chunk == kNoRootChunk ? driver_victim(view) : chunk;
  }
  void on_made_resident(const EvictionView&, RootChunkIndex chunk) override {
    order_.set(chunk, {order_.key(chunk).first, ++clock_});
  }
  void on_accessed(const EvictionView&, RootChunkIndex chunk) override {
    order_.set(chunk, {order_.key(chunk).first + 1, ++clock_});
  }
  void on_freed(RootChunkIndex chunk) override { order_.erase(chunk); }

 private:
  std::uint64_t clock_ = 0;
  ChunkOrder<std::pair<std::uint64_t, std::uint64_t>> order_;  // kernels, time of the last one
};

const bool kRegistered = add_plug_in<EvictionPolicy, LeastFrequentlyUsed>(
    {.name = "lfu",
     .summary = "evict the root chunk that the fewest kernels have accessed since it arrived",
     .source = "Ganguly et al., ISCA 2019 (LFU 2 MB)",
     .on_hardware = "not possible: no GPU reports accesses that hit (access counters count remote ones)"});

}  // namespace
}  // namespace uvmsim
