#include "engine/device_bytes.h"

#include <algorithm>

namespace uvmsim {
namespace {

bool reached(const std::vector<StreamPoint>& points) {
  return std::ranges::all_of(points, [](const StreamPoint& p) { return p.reached(); });
}

bool of(const std::vector<StreamPoint>& points, const EventState* own) {
  return std::ranges::all_of(points, [&](const StreamPoint& p) { return p.reached() || p.event == own; });
}

}  // namespace

void DeviceBytes::release(std::int64_t bytes, std::vector<StreamPoint> after, Sync sync) {
  held_ -= bytes;
  if (reached(after))
    free_ += bytes;
  else
    lots_.push_back({bytes, std::move(after), sync});
}

void DeviceBytes::collect() {
  for (Lot& lot : lots_) {
    if (!reached(lot.after)) continue;
    free_ += lot.bytes;
    lot.bytes = 0;
  }
  std::erase_if(lots_, [](const Lot& lot) { return lot.bytes == 0; });
}

void DeviceBytes::take_from(Lot& lot, std::int64_t& left, std::vector<StreamPoint>& waits) {
  const std::int64_t part = std::min(left, lot.bytes);
  lot.bytes -= part;
  left -= part;
  for (const StreamPoint& point : lot.after)
    if (!point.reached()) waits.push_back(point);
}

bool DeviceBytes::take(std::int64_t bytes, const EventState* own, std::vector<StreamPoint>& waits) {
  collect();
  std::int64_t available = free_;
  for (const Lot& lot : lots_)
    if (lot.sync == Sync::Stream) available += lot.bytes;
  if (available < bytes) return false;
  held_ += bytes;
  peak_ = std::max(peak_, held_);
  std::int64_t left = bytes;
  for (Lot& lot : lots_)
    if (left > 0 && lot.sync == Sync::Stream && of(lot.after, own)) take_from(lot, left, waits);
  const std::int64_t part = std::min(left, free_);
  free_ -= part;
  left -= part;
  for (Lot& lot : lots_)
    if (left > 0 && lot.sync == Sync::Stream) take_from(lot, left, waits);
  std::erase_if(lots_, [](const Lot& lot) { return lot.bytes == 0; });
  return true;
}

std::optional<StreamPoint> DeviceBytes::to_wait_for(bool any) const {
  for (const Lot& lot : lots_)
    if (lot.sync != Sync::Stream && (any || lot.sync != Sync::None))
      for (const StreamPoint& point : lot.after)
        if (!point.reached()) return point;
  return std::nullopt;
}

}  // namespace uvmsim
