#include "gpu/page_table.h"

#include <algorithm>

namespace uvmsim {

void PageTable::grow(FrameIndex frame) {
  if (valid_.contains(frame)) return;
  const std::size_t frames = std::max<std::size_t>(frame.value + 1, valid_.size() + valid_.size() / 2);
  valid_.resize(frames);
  full_.resize(frames);
  if (any_read_only_) read_only_.resize(frames);
  if (any_remote_) remote_.resize(frames);
}

void PageTable::map(FrameIndex frame, const PageMask& pages, bool writable, bool remote) {
  grow(frame);
  ++version_;
  valid_[frame] |= pages;
  if (!writable && !any_read_only_) {
    any_read_only_ = true;
    read_only_.resize(valid_.size());
  }
  if (remote && !any_remote_) {
    any_remote_ = true;
    remote_.resize(valid_.size());
  }
  if (any_read_only_) writable ? read_only_[frame] -= pages : read_only_[frame] |= pages;
  if (any_remote_) remote ? remote_[frame] |= pages : remote_[frame] -= pages;
  full_[frame] = valid_[frame].full() && !(any_read_only_ && read_only_[frame].any());
}

void PageTable::unmap(FrameIndex frame, const PageMask& pages) {
  if (!valid_.contains(frame)) return;
  ++version_;
  ++removals_;
  valid_[frame] -= pages;
  full_[frame] = false;
  if (any_read_only_) read_only_[frame] -= pages;
  if (any_remote_) remote_[frame] -= pages;
}

PageTable::Entries PageTable::entries(FrameIndex frame) const {
  if (!valid_.contains(frame)) return {};
  return {valid_[frame], any_read_only_ ? read_only_[frame] : PageMask{}, any_remote_ ? remote_[frame] : PageMask{}};
}

void PageTable::set_entries(FrameIndex frame, const Entries& entries) {
  unmap(frame, PageMask::all());
  for (const bool remote : {false, true}) {
    const PageMask there = remote ? entries.valid & entries.remote : entries.valid - entries.remote;
    if (const PageMask pages = there - entries.read_only; pages.any()) map(frame, pages, true, remote);
    if (const PageMask pages = there & entries.read_only; pages.any()) map(frame, pages, false, remote);
  }
}

PageNumber PageTable::next_fault(PageNumber first, PageNumber outer, bool write) const {
  while (first < outer) {
    const FrameIndex frame = frame_of(first);
    if (!valid_.contains(frame)) return first;
    const PageNumber end = first_page_of(frame + 1);
    if (!full_[frame]) {
      const std::uint32_t bit = page_in_frame(first);
      const std::uint32_t hole =
          write && any_read_only_ ? (valid_[frame] - read_only_[frame]).next_clear(bit) : valid_[frame].next_clear(bit);
      if (hole < kPagesPerBlock) return std::min(first_page_of(frame) + hole, outer);
    }
    first = end;
  }
  return outer;
}

PageNumber PageTable::fault_run_end(PageNumber first, PageNumber outer, bool write) const {
  const FrameIndex frame = frame_of(first);
  const PageNumber start = first_page_of(frame), end = start + kPagesPerBlock;
  if (!valid_.contains(frame)) return std::min(end, outer);
  const PageMask granted = write && any_read_only_ ? valid_[frame] - read_only_[frame] : valid_[frame];
  return std::min(start + granted.next_set(first - start), outer);
}

std::int64_t PageTable::remote_pages(PageNumber first, PageNumber outer) const {
  std::int64_t pages = 0;
  while (any_remote_ && first < outer) {
    const FrameIndex frame = frame_of(first);
    if (!remote_.contains(frame)) break;
    const PageNumber start = first_page_of(frame);
    const std::uint32_t last = std::min<std::uint32_t>(kPagesPerBlock, outer - start);
    pages += remote_[frame].count({first - start, last});
    first = start + kPagesPerBlock;
  }
  return pages;
}

}  // namespace uvmsim
