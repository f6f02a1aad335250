// The pages of the host (PAGE_SIZE), which are also the driver's: it decides, counts and pays by them.
//
// Masks and page numbers here are in 4 KiB whatever the host has. On a host with pages of 64 KiB every mask of the
// driver's state consists of whole aligned groups of 16, one group for each bit of the driver's uvm_page_mask_t:
// faults, which a GPU reports at 4 KiB, and all else from outside become whole groups where they come in. Runs of
// groups are runs of the driver's pages, and shares of a group-aligned region are the same in either unit, so only what
// counts pages or prices them has to ask here. What kernels did with the bytes (dead bytes) stays in 4 KiB.
//
// Source: uvm_common.h: PAGE_SIZE, PAGES_PER_UVM_VA_BLOCK; uvm_gpu_replayable_faults.c: UVM_PAGE_ALIGN_DOWN.
#pragma once

#include "base/page_mask.h"

namespace uvmsim {

class HostPages {
 public:
  // `size`: 4 KiB or 64 KiB.
  explicit HostPages(Bytes size) : pages_(static_cast<std::uint32_t>(size.value / kPageBytes)) {}

  // 4 KiB pages in one page of the host.
  std::uint32_t pages() const { return pages_; }
  // How many pages of the host `pages` are, which are whole ones.
  int count(int pages) const { return pages / static_cast<int>(pages_); }
  int count(const PageMask& pages) const { return count(pages.count()); }

  // The first of the page of the host around `page`, and the whole of it.
  PageNumber first(PageNumber page) const { return PageNumber{page.value / pages_ * pages_}; }
  PageRegion around(std::uint32_t page) const { return {page / pages_ * pages_, (page / pages_ + 1) * pages_}; }
  // The first page of the host that starts at `page` or behind it.
  PageNumber next(PageNumber page) const { return first(page + (pages_ - 1)); }

  // The first page of each page of the host in `pages`, which are whole ones.
  PageMask firsts(const PageMask& pages) const;
  // Pages of the host of which some part is in `pages`, or all of it.
  PageMask outwards(const PageMask& pages) const;
  PageMask inwards(const PageMask& pages) const { return ~outwards(~pages); }

 private:
  std::uint32_t pages_;
};

inline PageMask HostPages::firsts(const PageMask& pages) const {
  if (pages_ == 1) return pages;
  PageMask out;
  for (std::size_t w = 0; w < PageMask::kWords; ++w) out.set_word(w, pages.word(w) & 0x0001000100010001u);
  return out;
}

inline PageMask HostPages::outwards(const PageMask& pages) const {
  if (pages_ == 1) return pages;
  PageMask out;
  for (std::uint32_t page = pages.next_set(0); page < kPagesPerBlock; page = pages.next_set(around(page).outer))
    out.set(around(page));
  return out;
}

}  // namespace uvmsim
