// Free 64 KiB and 4 KiB pages of a split root chunk.
#pragma once

#include "base/page_mask.h"

namespace uvmsim {

// Calls `visit(first page, used bits)` for each 64 KiB page of a chunk, until it returns true.
template <class Visit>
constexpr bool any_big_page(const PageMask& used, Visit&& visit) {
  for (std::uint32_t first = 0; first < kPagesPerBlock; first += kPagesPerBigPage)
    if (visit(first, static_cast<std::uint16_t>(used.word(first / 64) >> (first % 64)))) return true;
  return false;
}

constexpr bool has_free_big_page(const PageMask& used) {
  return any_big_page(used, [](std::uint32_t, std::uint16_t bits) { return bits == 0; });
}

constexpr bool has_partial_big_page(const PageMask& used) {
  return any_big_page(used, [](std::uint32_t, std::uint16_t bits) { return bits != 0 && bits != 0xffff; });
}

// The first page of the first free run of `pages` (1 or 16) aligned pages; 512 when there is none. For one page, a
// 64 KiB page in partial use comes first, so that whole ones stay whole.
constexpr std::uint32_t find_free_pages(const PageMask& used, std::uint32_t pages) {
  std::uint32_t whole = kPagesPerBlock, single = kPagesPerBlock;
  any_big_page(used, [&](std::uint32_t first, std::uint16_t bits) {
    if (bits == 0 && whole == kPagesPerBlock) whole = first;
    if (bits != 0 && bits != 0xffff && single == kPagesPerBlock) single = used.next_clear(first);
    return false;
  });
  return pages == 1 && single < kPagesPerBlock ? single : whole;
}

}  // namespace uvmsim
