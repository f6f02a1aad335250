#include "engine/access_counting.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace uvmsim {
namespace {

// What one access that an access counter counts reads or writes: a line of the GPU's L2 cache (assumed).
constexpr std::int64_t kAccessBytes = 128;

bool counted(const Operand& o) { return o.managed() && o.bytes > 0; }

double pages_of(const Operand& o) { return o.pages().outer - o.pages().first; }

std::int64_t accesses_to_page(const Operand& o) {
  return kPageBytes / kAccessBytes * o.passes * (o.mode == trace::Mode::ReadWrite ? 2 : 1);
}

// How many of `pages` have been accessed at a share of all: n at n / pages, whatever that was rounded to.
std::uint32_t pages_at(double share, double pages) { return static_cast<std::uint32_t>(pages * share + 1e-6); }

}  // namespace

AccessCounting::AccessCounting(GpuDevice& gpu, int va_space, std::span<const Operand> operands, bool remote)
    : gpu_(gpu), va_space_(va_space) {
  if (!gpu.services().driver.counts_accesses(gpu.index())) return;
  operands_ = operands;
  if (remote) find_largest(gpu.services().machine.driver);
}

void AccessCounting::find_largest(const DriverConfig& driver) {
  watched_ = static_cast<double>(driver.uvm_perf_access_counter_granularity.value) / kPageBytes;
  for (const Operand& o : operands_) {
    if (!counted(o) || pages_of(o) <= pages_) continue;
    pages_ = pages_of(o);
    until_notified_ = std::min(
        watched_, std::ceil(driver.uvm_perf_access_counter_threshold / static_cast<double>(accesses_to_page(o))));
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
  if (operands_.empty() || !gpu_.pages(va_space_).any_remote()) return false;
  for (const Operand& o : operands_) {
    if (!counted(o)) continue;
    const PageNumber first = o.pages().first;
    count(o, first + pages_at(before, pages_of(o)), first + pages_at(share, pages_of(o)));
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
