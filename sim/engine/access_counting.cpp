#include "engine/access_counting.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace uvmsim {
namespace {

// What one access that an access counter counts reads or writes: a line of the GPU's L2 cache (assumed).
constexpr std::int64_t kAccessBytes = 128;

bool counted(const Operand& o) { return o.managed() && o.bytes > 0; }

PageNumber outer_page(const Operand& o) { return page_of(o.end() - 1) + 1; }

std::int64_t accesses_to_page(const Operand& o) {
  return kPageBytes / kAccessBytes * o.passes * (o.mode == trace::Mode::ReadWrite ? 2 : 1);
}

// How many of `pages` have been accessed at a share of all: n at n / pages, whatever that was rounded to.
std::uint32_t pages_at(double share, double pages) { return static_cast<std::uint32_t>(pages * share + 1e-6); }

}  // namespace

AccessCounting::AccessCounting(GpuDevice& gpu, int va_space, std::span<const Operand> operands)
    : gpu_(gpu),
      va_space_(va_space),
      operands_(operands),
      watched_(static_cast<double>(gpu.services().machine.driver.uvm_perf_access_counter_granularity.value) /
               kPageBytes) {
  const int threshold = gpu.services().machine.driver.uvm_perf_access_counter_threshold;
  for (const Operand& o : operands_) {
    if (!counted(o)) continue;
    const double pages = outer_page(o) - page_of(o.address);
    if (pages <= pages_) continue;
    pages_ = pages;
    until_notified_ = std::min(watched_, std::ceil(threshold / static_cast<double>(accesses_to_page(o))));
  }
}

double AccessCounting::next_share() const {
  if (pages_ == 0) return 1;
  const double passed = pages_at(counted_, pages_), left = passed - until_notified_;
  return (until_notified_ + (left < 0 ? 0 : watched_ * (std::floor(left / watched_) + 1))) / pages_;
}

bool AccessCounting::count(double share) {
  if (share <= counted_) return false;
  const double before = std::exchange(counted_, share);
  if (!gpu_.pages(va_space_).any_remote() || !gpu_.services().driver.counts_accesses(gpu_.index())) return false;
  for (const Operand& o : operands_) {
    if (!counted(o)) continue;
    const PageNumber first = page_of(o.address);
    const double pages = outer_page(o) - first;
    count(o, first + pages_at(before, pages), first + pages_at(share, pages));
  }
  return true;
}

// Those to the pages [first, outer) of an operand.
void AccessCounting::count(const Operand& o, PageNumber first, PageNumber outer) {
  const PageTable& table = gpu_.pages(va_space_);
  while (first < outer) {
    const FrameIndex frame = frame_of(first);
    const PageNumber base = first_page_of(frame), end = std::min(outer, base + kPagesPerBlock);
    const PageMask remote = table.remote_in(frame) & PageMask::of({first - base, end - base});
    if (remote.any())
      gpu_.services().driver.count_accesses(gpu_.index(), va_space_, frame, remote, accesses_to_page(o));
    first = end;
  }
}

}  // namespace uvmsim
