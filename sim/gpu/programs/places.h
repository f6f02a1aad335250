// Places of an operand, all at one distance: those that threads touch one by one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/page_table.h"

namespace uvmsim {

// Place p is `width` bytes at p * stride; it is on the page of its first byte.
struct Places {
  VirtualAddress address = 0;
  std::int64_t bytes = 0, stride = 1, width = 0;
  int load = 0;  // in which of the loads it is read (LoadOrder)
  bool read = false, write = false;

  std::int64_t count() const { return (bytes + stride - 1) / stride; }
  PageNumber page(std::int64_t place) const { return page_of(address + static_cast<VirtualAddress>(place * stride)); }

  // The first place at or after `from` whose page faults now; count() when none does.
  std::int64_t next_fault(std::int64_t from, const PageTable& pages) const {
    const std::int64_t all = count();
    const PageNumber outer = page(all - 1) + 1;
    while (from < all) {
      const PageNumber missing = pages.next_fault(page(from), outer, write);
      if (missing == page(from)) return from;
      if (missing == outer) return all;
      const auto offset = static_cast<std::int64_t>(address_of(missing) - address);
      from = std::max(from + 1, (offset + stride - 1) / stride);  // the first one on that page or behind it
    }
    return all;
  }
};

}  // namespace uvmsim
