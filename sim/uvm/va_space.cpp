#include "uvm/va_space.h"

#include <boost/icl/interval_map.hpp>
#include <utility>

#include "uvm/thrashing.h"

namespace uvmsim {

namespace icl = boost::icl;

namespace {

// A VA range: pages with one policy. The id keeps neighbours apart: cuts are permanent, even when the policies
// on both sides become equal again.
struct Range {
  std::uint32_t id = 0;
  VaPolicy policy;
  friend bool operator==(const Range&, const Range&) = default;
  Range& operator+=(const Range&) { return *this; }  // the map combines overlapping inserts; there are none
};

icl::right_open_interval<PageNumber> pages(PageNumber first, PageNumber outer) { return {first, outer}; }

}  // namespace

struct VaSpace::Ranges {
  using Map = icl::interval_map<PageNumber, Range, icl::partial_enricher, std::less, icl::inplace_plus,
                                icl::inter_section, icl::right_open_interval<PageNumber>>;
  Map map;
  std::uint32_t next_id = 1;
};

VaSpace::VaSpace(int number) : number_(number), ranges_(std::make_unique<Ranges>()) {}
VaSpace::~VaSpace() = default;
VaSpace::VaSpace(VaSpace&&) noexcept = default;

void VaSpace::allocate(PageNumber first, PageNumber outer, const VaPolicy& policy) {
  UVMSIM_CHECK(first < outer, "an empty managed allocation");
  UVMSIM_CHECK(next_allocated(first, outer) == outer, "managed allocations overlap");
  ranges_->map.insert({pages(first, outer), Range{ranges_->next_id++, policy}});
  allocations_.emplace(first, outer);
}

PageRange VaSpace::allocation(PageNumber first) const {
  const auto it = allocations_.find(first);
  UVMSIM_CHECK(it != allocations_.end(), "no managed allocation starts at this address");
  return {first, it->second};
}

void VaSpace::forget(PageNumber first) {
  ranges_->map.erase(pages(first, allocation(first).outer));
  allocations_.erase(first);
}

PageNumber VaSpace::next_allocated(PageNumber from, PageNumber outer) const {
  if (from >= outer) return outer;
  const auto it = ranges_->map.lower_bound(pages(from, from + 1));
  if (it == ranges_->map.end()) return outer;
  return std::min(outer, std::max(from, it->first.lower()));
}

const VaBlock* VaSpace::find(PageNumber page) const {
  for (std::uint32_t i = first_in_frame(frame_of(page)); i != kNoBlock; i = blocks_[i].next_in_frame) {
    const PageRegion region = blocks_[i].region;
    if (page_in_frame(page) >= region.first && page_in_frame(page) < region.outer) return &blocks_[i];
  }
  return nullptr;
}

BlockHandle VaSpace::block_at(PageNumber page) {
  const FrameIndex frame = frame_of(page);
  for (std::uint32_t i = first_in_frame(frame); i != kNoBlock; i = blocks_[i].next_in_frame)
    if (page_in_frame(page) < blocks_[i].region.outer && page_in_frame(page) >= blocks_[i].region.first)
      return {number_, i};
  const auto range = ranges_->map.find(page);
  UVMSIM_CHECK(range != ranges_->map.end(), "an access outside every managed allocation");
  const PageNumber base = first_page_of(frame);
  auto index = static_cast<std::uint32_t>(blocks_.size());
  if (free_blocks_.empty()) {
    blocks_.emplace_back();
  } else {
    index = free_blocks_.back();
    free_blocks_.pop_back();
  }
  VaBlock& block = blocks_[index];
  block.frame = frame;
  block.region = {std::max(range->first.lower(), base) - base,
                  std::min(range->first.upper(), base + kPagesPerBlock) - base};
  block.policy = range->second.policy;
  link(index);
  return {number_, index};
}

BlockHandle VaSpace::split_off(BlockHandle handle, std::uint32_t page) {
  const std::uint32_t index = free_blocks_.empty() ? static_cast<std::uint32_t>(blocks_.size()) : free_blocks_.back();
  if (free_blocks_.empty())
    blocks_.emplace_back();
  else
    free_blocks_.pop_back();
  VaBlock& front = blocks_[handle.index];
  VaBlock& back = blocks_[index];
  back.frame = front.frame;
  back.region = {page, front.region.outer};
  back.policy = front.policy;
  back.faults_to_last_destination = front.faults_to_last_destination;
  back.last_destination = front.last_destination;
  front.region.outer = page;
  link(index);
  return {number_, index};
}

void VaSpace::release(BlockHandle handle) {
  unlink(handle.index);
  blocks_[handle.index] = VaBlock{};
  free_blocks_.push_back(handle.index);
}

void VaSpace::link(std::uint32_t index) {
  VaBlock& block = blocks_[index];
  if (!block_of_frame_.contains(block.frame)) block_of_frame_.resize(block.frame.value + 1, kNoBlock);
  std::uint32_t* at = &block_of_frame_[block.frame];
  while (*at != kNoBlock && blocks_[*at].region.first < block.region.first) at = &blocks_[*at].next_in_frame;
  block.next_in_frame = *at;
  *at = index;
}

void VaSpace::unlink(std::uint32_t index) {
  std::uint32_t* at = &block_of_frame_[blocks_[index].frame];
  while (*at != index) at = &blocks_[*at].next_in_frame;
  *at = blocks_[index].next_in_frame;
}

bool VaSpace::cut(PageNumber page, const VaPolicy& policy) {
  const auto it = ranges_->map.find(page);
  if (it == ranges_->map.end() || it->first.lower() == page || it->second.policy == policy) return false;
  const PageNumber outer = it->first.upper();
  ranges_->map.set({pages(page, outer), Range{ranges_->next_id++, it->second.policy}});
  return true;
}

std::vector<PageRange> VaSpace::ranges_in(PageNumber first, PageNumber outer) const {
  std::vector<PageRange> out;
  for (auto it = ranges_->map.lower_bound(pages(first, first + 1));
       it != ranges_->map.end() && it->first.lower() < outer; ++it)
    out.push_back({std::max(first, it->first.lower()), std::min(outer, it->first.upper())});
  return out;
}

VaPolicy VaSpace::policy_at(PageNumber page) const {
  const auto it = ranges_->map.find(page);
  return it == ranges_->map.end() ? VaPolicy{} : it->second.policy;
}

void VaSpace::store_policy(PageRange range, const VaPolicy& policy) {
  const auto it = ranges_->map.find(range.first);
  if (it->second.policy == policy) return;
  ranges_->map.set({pages(range.first, range.outer), Range{it->second.id, policy}});
}

}  // namespace uvmsim
