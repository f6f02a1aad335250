// Chunks in an order of keys, for policies with an order of their own.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {

// Chunks by (key, chunk); setting a key again moves the chunk. O(log n).
template <class Key>
class ChunkOrder {
 public:
  void set(RootChunkIndex chunk, Key key) {
    erase(chunk);
    if (chunk >= keys_.size()) keys_.resize(chunk + 1u);
    keys_[chunk] = {key, true};
    order_.emplace(key, chunk);
  }
  void erase(RootChunkIndex chunk) {
    if (chunk >= keys_.size() || !keys_[chunk].second) return;
    order_.erase({keys_[chunk].first, chunk});
    keys_[chunk].second = false;
  }
  bool contains(RootChunkIndex chunk) const { return chunk < keys_.size() && keys_[chunk].second; }
  Key key(RootChunkIndex chunk) const { return contains(chunk) ? keys_[chunk].first : Key{}; }

  // The first evictable chunk, from the smallest key on or from the largest; kNoRootChunk when none is.
  RootChunkIndex smallest(const EvictionView& view) const { return first(order_.begin(), order_.end(), view); }
  RootChunkIndex largest(const EvictionView& view) const { return first(order_.rbegin(), order_.rend(), view); }

  auto rbegin() const { return order_.rbegin(); }
  auto rend() const { return order_.rend(); }

 private:
  template <class It>
  static RootChunkIndex first(It from, It to, const EvictionView& view) {
    for (; from != to; ++from)
      if (view.evictable(from->second)) return from->second;
    return kNoRootChunk;
  }

  std::vector<std::pair<Key, bool>> keys_;  // by chunk; whether it is in the order
  std::set<std::pair<Key, RootChunkIndex>> order_;
};

}  // namespace uvmsim
