#include "importers/nsight_touches.h"

#include <algorithm>
#include <utility>

#include "trace/format.h"

namespace uvmsim {
namespace {

void include(NsightTouches::Range& range, const NsightTouches::Range& more) {
  range.first = std::min(range.first, more.first);
  range.end = std::max(range.end, more.end);
  if (more.mode == trace::Mode::ReadWrite) range.mode = more.mode;
}

std::uint64_t end_of(const NsightMemory& memory) { return memory.address + static_cast<std::uint64_t>(memory.bytes); }

}  // namespace

void NsightTouches::add(const NsightTouch& touch) {
  ++touches_;
  go_to(touch.time);
  auto after = placed_.upper_bound(touch.address);
  if (after == placed_.begin()) return;
  const std::size_t allocation = std::prev(after)->second;
  if (touch.address >= end_of(memory_[allocation])) return;
  const auto offset = static_cast<std::int64_t>(touch.address - memory_[allocation].address);
  Range range{.allocation = allocation, .first = offset, .end = offset, .mode = touch.mode};
  range.end += std::clamp<std::int64_t>(touch.bytes, 0, trace::kMostBytes);
  const auto put = [&range](auto& ranges, const auto& key) {
    const auto [known, added] = ranges.try_emplace(key, range);
    if (!added) include(known->second, range);
  };
  bool running = false;
  for (Active& active : active_) {
    if (kernels_[active.kernel].device != touch.device) continue;
    running = true;
    range.kernel = active.kernel;
    put(active.ranges, allocation);
  }
  while_running_ = while_running_ || running;
  if (running) return;
  if (const auto kernel = beside(touch)) {
    range.kernel = *kernel;
    put(beside_, std::pair(*kernel, allocation));
  }
}

std::optional<std::size_t> NsightTouches::beside(const NsightTouch& touch) const {
  if (touch.whose == NsightTouch::Whose::RunningOrLast) {
    const auto last = last_.find(touch.device);
    if (last != last_.end()) return last->second;
  } else if (touch.whose == NsightTouch::Whose::RunningOrNext) {
    for (std::size_t next = next_kernel_; next < kernels_.size(); ++next)
      if (kernels_[next].device == touch.device) return next;
  }
  return std::nullopt;
}

// Both ends of a kernel's time belong to it.
void NsightTouches::go_to(std::int64_t time) {
  for (; next_kernel_ < kernels_.size() && kernels_[next_kernel_].start <= time; ++next_kernel_)
    active_.push_back({next_kernel_, {}});
  for (std::size_t i = active_.size(); i-- > 0;)
    if (kernels_[active_[i].kernel].end < time) retire(i);
  for (; next_memory_ < memory_.size() && memory_[next_memory_].time <= time; ++next_memory_)
    if (memory_[next_memory_].allocates) place(next_memory_);
}

// The import refuses sizes that no trace can hold later, with the place.
void NsightTouches::place(std::size_t allocation) {
  const NsightMemory& memory = memory_[allocation];
  if (memory.bytes < 1 || memory.bytes > trace::kMostBytes || end_of(memory) < memory.address) return;
  auto over = placed_.upper_bound(memory.address);
  if (over != placed_.begin() && end_of(memory_[std::prev(over)->second]) > memory.address) --over;
  while (over != placed_.end() && over->first < end_of(memory)) over = placed_.erase(over);
  placed_[memory.address] = allocation;
}

void NsightTouches::retire(std::size_t active) {
  const std::size_t kernel = active_[active].kernel;
  const auto [last, first_one] = last_.try_emplace(kernels_[kernel].device, kernel);
  if (!first_one && kernels_[kernel].end >= kernels_[last->second].end) last->second = kernel;
  for (const auto& [allocation, range] : active_[active].ranges) seen_.push_back(range);
  std::swap(active_[active], active_.back());
  active_.pop_back();
}

void NsightTouches::end_series() {
  while (!active_.empty()) retire(active_.size() - 1);
  for (const auto& [of, range] : beside_) seen_.push_back(range);
  beside_.clear();
  last_.clear();
  placed_.clear();
  next_kernel_ = next_memory_ = 0;
  std::ranges::sort(seen_, {}, [](const Range& r) { return std::pair(r.kernel, r.allocation); });
  std::vector<Range> merged;
  for (const Range& range : seen_) {
    if (!merged.empty() && merged.back().kernel == range.kernel && merged.back().allocation == range.allocation)
      include(merged.back(), range);
    else
      merged.push_back(range);
  }
  seen_ = std::move(merged);
}

std::vector<NsightTouches::Range> NsightTouches::of(std::size_t kernel) const {
  const auto first = std::ranges::lower_bound(seen_, kernel, {}, &Range::kernel);
  const auto last = std::find_if(first, seen_.end(), [&](const Range& range) { return range.kernel != kernel; });
  return {first, last};
}

}  // namespace uvmsim
