#include "engine/counted_memory.h"

#include <algorithm>
#include <utility>

namespace uvmsim {
namespace {

bool of(const std::vector<StreamPoint>& points, const EventState* own) {
  return std::ranges::all_of(points, [&](const StreamPoint& p) { return p.reached() || p.event == own; });
}

}  // namespace

void CountedMemory::release(const DeviceBlock& block, std::vector<StreamPoint> after, Sync sync) {
  held_ -= block.bytes;
  if (reached(after))
    free_ += block.bytes;
  else
    lots_.push_back({block.bytes, std::move(after), sync});
}

std::int64_t CountedMemory::collect() {
  std::int64_t early = 0;
  for (Lot& lot : lots_) {
    if (reached(lot.after))
      free_ += std::exchange(lot.bytes, 0);
    else if (lot.sync == Sync::Stream)
      early += lot.bytes;
  }
  std::erase_if(lots_, [](const Lot& lot) { return lot.bytes == 0; });
  return early;
}

void CountedMemory::take_from(Lot& lot, std::int64_t& left, std::vector<StreamPoint>& waits) {
  const std::int64_t part = std::min(left, lot.bytes);
  lot.bytes -= part;
  left -= part;
  for (const StreamPoint& point : lot.after)
    if (!point.reached()) waits.push_back(point);
}

std::optional<DeviceBlock> CountedMemory::take(const Request& request, std::vector<StreamPoint>& waits) {
  const std::int64_t early = collect();
  if (free_ + early < request.bytes) return std::nullopt;
  held_ += request.bytes;
  peak_ = std::max(peak_, held_);
  std::int64_t left = request.bytes;
  for (auto lot = lots_.begin(); lot != lots_.end() && left > 0; ++lot)
    if (lot->sync == Sync::Stream && of(lot->after, request.own)) take_from(*lot, left, waits);
  const std::int64_t part = std::min(left, free_);
  free_ -= part;
  left -= part;
  for (auto lot = lots_.begin(); lot != lots_.end() && left > 0; ++lot)
    if (lot->sync == Sync::Stream) take_from(*lot, left, waits);
  return DeviceBlock{.bytes = request.bytes};
}

std::optional<StreamPoint> CountedMemory::to_wait_for(bool any) const {
  for (const Lot& lot : lots_)
    if (lot.sync != Sync::Stream && (any || lot.sync != Sync::None))
      for (const StreamPoint& point : lot.after)
        if (!point.reached()) return point;
  return std::nullopt;
}

}  // namespace uvmsim
