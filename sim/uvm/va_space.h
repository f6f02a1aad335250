// The managed address space of one process: ranges with their policies, cut into VA blocks.
//
// Source: driver specification, section 1.1; uvm_va_range.c, uvm_policy.c: split_span_as_needed.
#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/indexed_vector.h"
#include "base/page_range.h"
#include "uvm/va_block.h"

namespace uvmsim {

class VaSpace {
 public:
  explicit VaSpace(int number);
  ~VaSpace();
  VaSpace(VaSpace&&) noexcept;

  // A managed allocation of pages [first, outer). Requires: unused addresses.
  void allocate(PageNumber first, PageNumber outer, const VaPolicy& policy = {});
  // The pages of the allocation that starts at `first`. Requires: there is one.
  PageRange allocation(PageNumber first) const;
  // Forgets an allocation. Its blocks must have been released.
  void forget(PageNumber first);

  // The VA block of a page of an allocation; created when missing. References to blocks stay valid.
  BlockHandle block_at(PageNumber page);
  // The block of a page if it exists.
  const VaBlock* find(PageNumber page) const;
  VaBlock* find(PageNumber page) { return const_cast<VaBlock*>(std::as_const(*this).find(page)); }
  VaBlock& block(std::uint32_t index) { return blocks_[index]; }
  const VaBlock& block(std::uint32_t index) const { return blocks_[index]; }
  // The first page >= `from` and < `outer` that belongs to an allocation; `outer` when there is none.
  PageNumber next_allocated(PageNumber from, PageNumber outer) const;

  // Calls `visit(VaBlock&, BlockHandle)` for each existing block that overlaps [first, outer), ascending.
  template <class Visit>
  void for_each_block(PageNumber first, PageNumber outer, Visit&& visit);
  template <class Visit>
  void for_each_block(PageNumber first, PageNumber outer, Visit&& visit) const;

  // Applies `change(VaPolicy&)` to pages [first, outer) of allocations; a range keeps its policy outside. Ranges
  // are cut where the policy differs, and `split(BlockHandle, page)` is called for each existing block under a
  // cut: it must move the pages from `page` (of the frame) on to a new block made by `split_off`.
  template <class Change, class Split>
  void set_policy(PageNumber first, PageNumber outer, Change&& change, Split&& split);
  // A new block with pages [page, block.region.outer) of the frame; the old one keeps the front.
  BlockHandle split_off(BlockHandle block, std::uint32_t page);
  // Removes a block that holds no memory any more.
  void release(BlockHandle block);

  // Of the range that `page` is in; the default outside of all.
  VaPolicy policy_at(PageNumber page) const;

  int number() const { return number_; }

 private:
  struct Ranges;
  // Cuts the range under `page` when its policy is not `policy`, and reports the cut.
  bool cut(PageNumber page, const VaPolicy& policy);
  std::vector<PageRange> ranges_in(PageNumber first, PageNumber outer) const;
  void store_policy(PageRange pages, const VaPolicy& policy);
  std::uint32_t first_in_frame(FrameIndex frame) const {
    return block_of_frame_.contains(frame) ? block_of_frame_[frame] : kNoBlock;
  }
  void link(std::uint32_t index);
  void unlink(std::uint32_t index);

  static constexpr std::uint32_t kNoBlock = 0xffffffff;
  using Blocks =
      boost::container::deque<VaBlock, void, boost::container::deque_options_t<boost::container::block_size<64u>>>;

  int number_;
  std::unique_ptr<Ranges> ranges_;
  std::map<PageNumber, PageNumber> allocations_;             // first -> outer
  IndexedVector<FrameIndex, std::uint32_t> block_of_frame_;  // head of the frame's list of blocks, ascending
  Blocks blocks_;
  std::vector<std::uint32_t> free_blocks_;
};

template <class Visit>
void VaSpace::for_each_block(PageNumber first, PageNumber outer, Visit&& visit) {
  if (first >= outer) return;
  for (FrameIndex frame = frame_of(first); frame <= frame_of(outer - 1); ++frame) {
    if (!block_of_frame_.contains(frame)) return;
    for (std::uint32_t i = first_in_frame(frame); i != kNoBlock;) {
      VaBlock& b = blocks_[i];
      const std::uint32_t next = b.next_in_frame;
      const PageNumber base = first_page_of(frame);
      if (base + b.region.first < outer && base + b.region.outer > first) visit(b, BlockHandle{number_, i});
      i = next;
    }
  }
}

template <class Visit>
void VaSpace::for_each_block(PageNumber first, PageNumber outer, Visit&& visit) const {
  const_cast<VaSpace*>(this)->for_each_block(first, outer,
                                             [&](const VaBlock& block, BlockHandle handle) { visit(block, handle); });
}

template <class Change, class Split>
void VaSpace::set_policy(PageNumber first, PageNumber outer, Change&& change, Split&& split) {
  for (const PageRange range : ranges_in(first, outer)) {
    VaPolicy policy = policy_at(range.first);
    change(policy);
    for (const PageNumber edge : {range.first, range.outer})
      if (cut(edge, policy))
        if (VaBlock* under = find(edge))
          if (under->first_page() < edge) split(block_at(edge), page_in_frame(edge));
    store_policy(range, policy);
    for_each_block(range.first, range.outer, [&](VaBlock& block, BlockHandle) { block.policy = policy; });
  }
}

}  // namespace uvmsim
