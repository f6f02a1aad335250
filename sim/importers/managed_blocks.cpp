#include "importers/managed_blocks.h"

#include <algorithm>

namespace uvmsim {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{2} << 20;

}  // namespace

void ManagedBlocks::add(std::uint64_t address, std::int64_t bytes) {
  if (bytes < 1) return;
  const std::uint64_t block = address / kBlock;
  const std::uint64_t last = address + std::min(static_cast<std::uint64_t>(bytes), (block + 1) * kBlock - address) - 1;
  const auto [found, added] = blocks_.try_emplace(block, Seen{address, last});
  if (added) return;
  found->second.first = std::min(found->second.first, address);
  found->second.last = std::max(found->second.last, last);
}

std::vector<ManagedBlocks::Range> ManagedBlocks::ranges() const {
  std::vector<Range> all;
  std::uint64_t next = 0;  // the block after the last one
  for (const auto& [block, seen] : blocks_) {
    if (all.empty() || block != next) all.push_back({seen.first, 0});
    all.back().bytes = static_cast<std::int64_t>(seen.last - all.back().address) + 1;
    next = block + 1;
  }
  return all;
}

}  // namespace uvmsim
