#include <algorithm>
#include <array>
#include <utility>

#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

constexpr std::uint32_t kLeaves = kPagesPerBlock / kPagesPerBigPage;

// The density prefetcher's mirror: the 64 KiB least recently serviced go, and with them each larger aligned part of
// the block of which then less than half is left, up to the whole block.
class Tree final : public EvictionPolicy {
 public:
  RootChunkIndex victim(const EvictionView& view) override {
    return first_in_driver_order(view, [](RootChunkIndex) { return true; });
  }
  std::vector<RootChunkIndex> more_victims(const EvictionView& view, RootChunkIndex victim) override {
    std::vector<RootChunkIndex> more;
    std::array<RootChunkIndex, kLeaves> leaves;
    leaves.fill(kNoRootChunk);
    for (const RootChunkIndex chunk : view.neighbours(victim))
      if (chunk != victim && view.evictable(chunk)) leaves[view.pages(chunk).first / kPagesPerBigPage] = chunk;
    const std::size_t leaf = view.pages(victim).first / kPagesPerBigPage;
    for (std::uint32_t size = 2; size <= kLeaves; size *= 2) {
      const auto first = leaves.begin() + leaf / size * size;
      const auto left = size - static_cast<std::uint32_t>(std::count(first, first + size, kNoRootChunk));
      if (2 * left >= size) continue;
      for (auto it = first; it != first + size; ++it)
        if (*it != kNoRootChunk) more.push_back(std::exchange(*it, kNoRootChunk));
    }
    return more;
  }
};

const bool kRegistered = add_plug_in<EvictionPolicy, Tree>(
    {.name = "tree",
     .summary = "the 64 KiB least recently serviced, and what around them is less than half resident; with "
                "eviction_granularity 64 KiB",
     .source = "Ganguly et al., ISCA 2019: tree-based neighborhood pre-eviction",
     .on_hardware = "another nvidia-uvm: 64 KiB chunks for all blocks"});

}  // namespace
}  // namespace uvmsim
