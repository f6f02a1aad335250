#include "memory/free_list.h"

#include <iterator>

#include "base/check.h"

namespace uvmsim {

FreeList::Block FreeList::extract(Blocks::iterator at) {
  const Block block{at->first, at->second.size, at->second.head};
  by_size_.erase({block.size, block.address});
  blocks_.erase(at);
  return block;
}

void FreeList::add(const Block& block) {
  blocks_[block.address] = {block.size, block.head};
  by_size_.insert({block.size, block.address});
}

void FreeList::insert(Block block) {
  const auto next = blocks_.lower_bound(block.address);
  UVMSIM_CHECK(next == blocks_.end() || next->first >= block.end(), "free ranges are disjoint");
  if (next != blocks_.end() && next->first == block.end() && !next->second.head) block.size += extract(next).size;
  auto previous = blocks_.lower_bound(block.address);
  if (previous != blocks_.begin() && !block.head) {
    --previous;
    if (previous->first + static_cast<VirtualAddress>(previous->second.size) == block.address) {
      const Block before = extract(previous);
      block = {before.address, before.size + block.size, before.head};
    }
  }
  add(block);
}

void FreeList::merge(FreeList& other) {
  while (!other.blocks_.empty()) insert(other.extract(other.blocks_.begin()));
}

FreeList::Block FreeList::cut_front(Block block, std::int64_t size) {
  if (block.size > size) add({block.address + static_cast<VirtualAddress>(size), block.size - size, false});
  block.size = size;
  return block;
}

std::optional<FreeList::Block> FreeList::take_best(std::int64_t size) {
  const auto best = by_size_.lower_bound({size, 0});
  if (best == by_size_.end()) return std::nullopt;
  return cut_front(extract(blocks_.find(best->second)), size);
}

std::optional<FreeList::Block> FreeList::take_first(std::int64_t size) {
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
    if (it->second.size >= size) return cut_front(extract(it), size);
  return std::nullopt;
}

std::optional<FreeList::Block> FreeList::take_last(std::int64_t size) {
  for (auto it = blocks_.end(); it != blocks_.begin();) {
    --it;
    if (it->second.size < size) continue;
    const Block block = extract(it);
    if (block.size == size) return block;
    add({block.address, block.size - size, block.head});
    return Block{block.end() - static_cast<VirtualAddress>(size), size, false};
  }
  return std::nullopt;
}

bool FreeList::has(VirtualAddress address, std::int64_t size) const {
  const auto found = blocks_.find(address);
  return found != blocks_.end() && found->second.size >= size;
}

FreeList::Block FreeList::take(VirtualAddress address) {
  const auto found = blocks_.find(address);
  UVMSIM_CHECK(found != blocks_.end(), "only a free block is taken");
  return extract(found);
}

}  // namespace uvmsim
