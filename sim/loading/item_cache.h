// Item caches answer "which items of a data set stay in host memory?". One file each in loading/caches/.
#pragma once

#include <cstdint>

#include "base/registry.h"

namespace uvmsim {

// What host memory keeps of a data set of `items` items of one size, at most `capacity` of them. One is made for each
// server, by a C that is constructed from these two. The answers depend on what was read, on nothing else.
class ItemCache {
 public:
  static constexpr KindText kKind{.name = "cache", .noun = "cache of data items", .use = "data.cache"};
  using Factory = uvmsim::Factory<ItemCache, std::int64_t, std::int64_t>;
  template <class C>
  using FactoryOf = uvmsim::FactoryOf<C, ItemCache, std::int64_t, std::int64_t>;

  virtual ~ItemCache() = default;

  virtual bool has(std::int64_t item) const = 0;
  // `item` is read, 0 .. items - 1: afterwards it may be in the cache, and others may not.
  virtual void read(std::int64_t item) = 0;
};

inline Registry<ItemCache>& item_caches() { return registry<ItemCache>(); }

}  // namespace uvmsim
