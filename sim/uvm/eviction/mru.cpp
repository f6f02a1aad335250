#include "uvm/eviction/chunk_order.h"

namespace uvmsim {
namespace {

// Most recently accessed by a kernel, but what the running fault batch brought: keeps the front of a cyclic scan.
class MostRecentlyUsed final : public EvictionPolicy {
 public:
  EvictionNeeds needs() const override { return {.accesses = true}; }
  RootChunkIndex victim(const EvictionView& view) override {
    const RootChunkIndex chunk = order_.largest(view);
    return chunk == kNoRootChunk ? driver_victim(view) : chunk;
  }
  void on_made_resident(const EvictionView&, RootChunkIndex chunk) override { order_.set(chunk, ++clock_); }
  void on_accessed(const EvictionView&, RootChunkIndex chunk) override { order_.set(chunk, ++clock_); }
  void on_freed(RootChunkIndex chunk) override { order_.erase(chunk); }

 private:
  std::uint64_t clock_ = 0;
  ChunkOrder<std::uint64_t> order_;
};

const bool kRegistered = add_plug_in<EvictionPolicy, MostRecentlyUsed>(
    {.name = "mru",
     .summary = "evict the root chunk that kernels accessed most recently",
     .source = "the textbook answer to cyclic scans; e.g. Chou and DeWitt, VLDB 1985",
     .on_hardware = "not possible: no GPU reports accesses that hit (access counters count remote ones)"});

}  // namespace
}  // namespace uvmsim
