// A set of the 512 pages of a 2 MiB block, and half-open regions of them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/units.h"

namespace uvmsim {

// A half-open run of pages in one block. Driver: uvm_va_block_region_t {first, outer}.
struct PageRegion {
  std::uint32_t first = 0;
  std::uint32_t outer = 0;  // one past the last page

  friend constexpr bool operator==(PageRegion, PageRegion) = default;
  constexpr std::uint32_t page_count() const { return outer - first; }
  constexpr bool empty() const { return outer <= first; }
};

// A set of pages of one block: bit i is page i. Driver: uvm_page_mask_t.
// Operations work on eight 64-bit words; nothing here walks pages one by one but `for_each_run`.
class PageMask {
 public:
  static constexpr std::size_t kWords = kPagesPerBlock / 64;

  constexpr PageMask() = default;
  static constexpr PageMask of(PageRegion r) {
    PageMask m;
    m.set(r);
    return m;
  }
  static constexpr PageMask all() { return of({0, kPagesPerBlock}); }

  constexpr bool test(std::uint32_t page) const { return words_[page / 64] >> (page % 64) & 1; }
  constexpr void set(std::uint32_t page) { words_[page / 64] |= std::uint64_t{1} << (page % 64); }
  constexpr void reset(std::uint32_t page) { words_[page / 64] &= ~(std::uint64_t{1} << (page % 64)); }
  constexpr void set(PageRegion r) {
    for (std::size_t w = 0; w < kWords; ++w) words_[w] |= word_of(r, w);
  }
  constexpr void reset(PageRegion r) {
    for (std::size_t w = 0; w < kWords; ++w) words_[w] &= ~word_of(r, w);
  }
  constexpr void clear() { words_ = {}; }

  constexpr bool none() const {
    std::uint64_t any = 0;
    for (std::uint64_t w : words_) any |= w;
    return any == 0;
  }
  constexpr bool any() const { return !none(); }
  constexpr bool full() const {
    std::uint64_t every = ~std::uint64_t{0};
    for (std::uint64_t w : words_) every &= w;
    return every == ~std::uint64_t{0};
  }
  constexpr int count() const {
    int n = 0;
    for (std::uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  constexpr int count(PageRegion r) const {
    int n = 0;
    for (std::size_t w = 0; w < kWords; ++w) n += std::popcount(words_[w] & word_of(r, w));
    return n;
  }

  // The number of maximal runs of set pages.
  constexpr int run_count() const {
    int n = 0;
    std::uint64_t carry = 0;
    for (std::uint64_t w : words_) {
      n += std::popcount(w & ~(w << 1 | carry));
      carry = w >> 63;
    }
    return n;
  }

  // The first page in [from, 512) that is set (or clear); 512 when there is none.
  constexpr std::uint32_t next_set(std::uint32_t from) const { return next(from, 0); }
  constexpr std::uint32_t next_clear(std::uint32_t from) const { return next(from, ~std::uint64_t{0}); }

  constexpr std::uint64_t word(std::size_t w) const { return words_[w]; }
  constexpr void set_word(std::size_t w, std::uint64_t bits) { words_[w] = bits; }

  friend constexpr bool operator==(const PageMask&, const PageMask&) = default;
  friend constexpr PageMask operator&(PageMask a, const PageMask& b) { return a &= b; }
  friend constexpr PageMask operator|(PageMask a, const PageMask& b) { return a |= b; }
  friend constexpr PageMask operator-(PageMask a, const PageMask& b) { return a -= b; }  // set difference
  friend constexpr PageMask operator~(PageMask a) {
    for (std::uint64_t& w : a.words_) w = ~w;
    return a;
  }
  constexpr PageMask& operator&=(const PageMask& b) {
    for (std::size_t w = 0; w < kWords; ++w) words_[w] &= b.words_[w];
    return *this;
  }
  constexpr PageMask& operator|=(const PageMask& b) {
    for (std::size_t w = 0; w < kWords; ++w) words_[w] |= b.words_[w];
    return *this;
  }
  constexpr PageMask& operator-=(const PageMask& b) {
    for (std::size_t w = 0; w < kWords; ++w) words_[w] &= ~b.words_[w];
    return *this;
  }

 private:
  static constexpr std::uint64_t word_of(PageRegion r, std::size_t w) {
    const std::uint32_t base = static_cast<std::uint32_t>(w) * 64;
    if (r.outer <= base || r.first >= base + 64 || r.empty()) return 0;
    const std::uint32_t lo = r.first > base ? r.first - base : 0;
    const std::uint32_t hi = r.outer < base + 64 ? r.outer - base : 64;
    const std::uint64_t upto = hi == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << hi) - 1;
    return upto & ~((std::uint64_t{1} << lo) - 1);
  }
  constexpr std::uint32_t next(std::uint32_t from, std::uint64_t flip) const {
    if (from >= kPagesPerBlock) return kPagesPerBlock;
    std::size_t w = from / 64;
    std::uint64_t bits = (words_[w] ^ flip) & (~std::uint64_t{0} << (from % 64));
    while (bits == 0) {
      if (++w == kWords) return kPagesPerBlock;
      bits = words_[w] ^ flip;
    }
    return static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
  }

  std::array<std::uint64_t, kWords> words_{};
};

// Calls `visit(PageRegion)` for each maximal run of set pages, in ascending order.
template <class Visit>
constexpr void for_each_run(const PageMask& pages, Visit&& visit) {
  for (std::uint32_t first = pages.next_set(0); first < kPagesPerBlock;) {
    const std::uint32_t outer = pages.next_clear(first);
    visit(PageRegion{first, outer});
    first = pages.next_set(outer);
  }
}

// Calls `visit(page)` for each set page, in ascending order.
template <class Visit>
constexpr void for_each_page(const PageMask& pages, Visit&& visit) {
  for (std::size_t w = 0; w < PageMask::kWords; ++w)
    for (std::uint64_t bits = pages.word(w); bits != 0; bits &= bits - 1)
      visit(static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bits)));
}

}  // namespace uvmsim
