// One GPU's page table of one process: which pages an SM may access without a fault.
//
// The driver writes it, the GPU reads it; that is the hardware boundary, so it is the code boundary.
#pragma once

#include <cstdint>

#include "base/indexed_vector.h"
#include "base/page_mask.h"
#include "base/units.h"

namespace uvmsim {

// Entries are kept per 2 MiB frame. A valid entry implies read access; it implies write access unless the
// page is read-only (read duplication). A remote entry points at host memory: no fault, but slow.
class PageTable {
 public:
  void map(FrameIndex frame, const PageMask& pages, bool writable, bool remote);
  void unmap(FrameIndex frame, const PageMask& pages);

  // All entries of a frame.
  struct Entries {
    PageMask valid, read_only, remote;
  };
  Entries entries(FrameIndex frame) const;
  void set_entries(FrameIndex frame, const Entries& entries);

  bool granted(PageNumber page, bool write) const {
    const FrameIndex frame = frame_of(page);
    if (!valid_.contains(frame)) return false;
    const std::uint32_t bit = page_in_frame(page);
    return valid_[frame].test(bit) && !(write && any_read_only_ && read_only_[frame].test(bit));
  }

  // Which of the 64 pages from `first` on are granted: bit i is page first + i.
  std::uint64_t granted_word(PageNumber first, bool write) const {
    const FrameIndex frame = frame_of(first);
    const std::uint32_t bit = page_in_frame(first), word = bit / 64, shift = bit % 64;
    const std::uint64_t low = granted_words(frame, word, write) >> shift;
    if (shift == 0) return low;
    const bool last = word + 1 == PageMask::kWords;
    return low | granted_words(last ? frame + 1 : frame, last ? 0 : word + 1, write) << (64 - shift);
  }

  // How many of `count` pages first, first + stride, ... are granted before the first one that is not; or are missing
  // before the first one that is granted.
  std::uint32_t granted_run(PageNumber first, std::uint32_t stride, std::uint32_t count, bool write) const {
    return run_of(true, first, stride, count, write);
  }
  std::uint32_t missing_run(PageNumber first, std::uint32_t stride, std::uint32_t count, bool write) const {
    return run_of(false, first, stride, count, write);
  }

  // The first page in [first, outer) whose access faults; `outer` when none does. O(frames), by words.
  PageNumber next_fault(PageNumber first, PageNumber outer, bool write) const;

  // The end of the run of pages that fault which starts at `first`, at most `outer`; it may stop early, at
  // the end of the frame.
  PageNumber fault_run_end(PageNumber first, PageNumber outer, bool write) const;

  // Pages in [first, outer) that are mapped remotely.
  std::int64_t remote_pages(PageNumber first, PageNumber outer) const;
  // Those of one frame.
  PageMask remote_in(FrameIndex frame) const { return remote_.contains(frame) ? remote_[frame] : PageMask{}; }
  bool any_remote() const { return any_remote_; }

  // Counts changes: what was looked up before still holds while it stays the same.
  std::uint64_t version() const { return version_; }
  // Counts the changes that took pages away: what could be read still can be while it stays the same.
  std::uint64_t removals() const { return removals_; }

 private:
  void grow(FrameIndex frame);
  std::uint64_t granted_words(FrameIndex frame, std::size_t word, bool write) const {
    if (!valid_.contains(frame)) return 0;
    const std::uint64_t valid = valid_[frame].word(word);
    return write && any_read_only_ ? valid & ~read_only_[frame].word(word) : valid;
  }
  std::uint32_t run_of(bool granted, PageNumber first, std::uint32_t stride, std::uint32_t count, bool write) const {
    std::uint32_t n = 0;
    while (n < count && this->granted(first + n * stride, write) == granted) ++n;
    return n;
  }

  template <class T>
  using ByFrame = IndexedVector<FrameIndex, T>;

  ByFrame<PageMask> valid_;
  ByFrame<std::uint8_t> full_;   // all 512 pages of the frame are valid and writable
  ByFrame<PageMask> read_only_;  // empty until a read-only page is mapped
  ByFrame<PageMask> remote_;     // empty until a remote page is mapped
  bool any_read_only_ = false, any_remote_ = false;
  std::uint64_t version_ = 1, removals_ = 0;
};

}  // namespace uvmsim
