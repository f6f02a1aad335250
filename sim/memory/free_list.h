// Free ranges of a pool, in address order.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/units.h"

namespace uvmsim {

// Ranges merge with their neighbours, but never across the start of a driver allocation (a "head").
class FreeList {
 public:
  struct Block {
    VirtualAddress address = 0;
    std::int64_t size = 0;
    bool head = false;  // starts a driver allocation

    VirtualAddress end() const { return address + static_cast<VirtualAddress>(size); }
  };

  void insert(Block block);
  void merge(FreeList& other);  // takes all of `other`'s

  // `size` bytes cut from the start of the smallest block that has them, of those the lowest.
  std::optional<Block> take_best(std::int64_t size);
  // The same from the lowest block that has them.
  std::optional<Block> take_first(std::int64_t size);
  // `size` bytes cut from the end of the highest block that has them.
  std::optional<Block> take_last(std::int64_t size);

  bool empty() const { return blocks_.empty(); }
  std::int64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  // The free block that starts there, of at least `size` bytes.
  bool has(VirtualAddress address, std::int64_t size) const;
  // Takes the block that starts there.
  Block take(VirtualAddress address);

 private:
  struct Extent {
    std::int64_t size;
    bool head;
  };
  using Blocks = std::map<VirtualAddress, Extent>;

  Block extract(Blocks::iterator at);
  void add(const Block& block);
  Block cut_front(Block block, std::int64_t size);

  Blocks blocks_;
  std::set<std::pair<std::int64_t, VirtualAddress>> by_size_;
};

}  // namespace uvmsim
