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
  std::erase_if(after, [](const StreamPoint& p) { return p.reached(); });
  if (after.empty() || block.bytes == 0) {
    free_ += block.bytes;
    return;
  }
  Lot lot{.bytes = block.bytes, .after = std::move(after), .sync = sync, .released = releases_++};
  if (Queue* queue = queue_for(lot.after, sync)) {
    queue->bytes += lot.bytes;
    queue->lots.push_back(std::move(lot));
  } else {
    others_.push_back(std::move(lot));
  }
}

// nullptr: the lot waits for several streams or for a host, or for what comes before the newest of its stream.
CountedMemory::Queue* CountedMemory::queue_for(const std::vector<StreamPoint>& after, Sync sync) {
  if (after.size() != 1 || sync != Sync::Stream) return nullptr;
  const StreamPoint& point = after.front();
  auto queue = std::ranges::find(queues_, point.event, &Queue::event);
  if (queue == queues_.end()) queue = queues_.insert(queue, Queue{.event = point.event});
  const bool in_order = queue->lots.empty() || queue->lots.back().after.front().target <= point.target;
  return in_order ? &*queue : nullptr;
}

std::int64_t CountedMemory::collect() {
  std::int64_t early = 0;
  for (Queue& queue : queues_) {
    for (; !queue.lots.empty() && queue.lots.front().after.front().reached(); queue.lots.pop_front()) {
      free_ += queue.lots.front().bytes;
      queue.bytes -= queue.lots.front().bytes;
    }
    early += queue.bytes;
  }
  for (Lot& lot : others_) {
    if (reached(lot.after))
      free_ += std::exchange(lot.bytes, 0);
    else if (lot.sync == Sync::Stream)
      early += lot.bytes;
  }
  std::erase_if(others_, [](const Lot& lot) { return lot.bytes == 0; });
  return early;
}

CountedMemory::Oldest CountedMemory::oldest(const EventState* own) {
  Oldest found;
  for (Queue& queue : queues_)
    if (!queue.lots.empty() && (own == nullptr || queue.event == own) &&
        (found.lot == nullptr || queue.lots.front().released < found.lot->released))
      found = {&queue.lots.front(), &queue};
  for (Lot& lot : others_) {
    if (found.lot != nullptr && found.lot->released < lot.released) break;
    if (lot.bytes > 0 && lot.sync == Sync::Stream && (own == nullptr || of(lot.after, own))) return {&lot, nullptr};
  }
  return found;
}

void CountedMemory::take_lots(const EventState* own, std::int64_t& left, std::vector<StreamPoint>& waits) {
  while (left > 0) {
    const auto [lot, queue] = oldest(own);
    if (lot == nullptr) return;
    const std::int64_t part = std::min(left, lot->bytes);
    lot->bytes -= part;
    left -= part;
    for (const StreamPoint& point : lot->after)
      if (!point.reached()) waits.push_back(point);
    if (queue == nullptr) continue;
    queue->bytes -= part;
    if (lot->bytes == 0) queue->lots.pop_front();
  }
}

std::optional<DeviceBlock> CountedMemory::take(const Request& request, std::vector<StreamPoint>& waits) {
  const std::int64_t early = collect();
  if (free_ + early < request.bytes) return std::nullopt;
  held_ += request.bytes;
  peak_ = std::max(peak_, held_);
  std::int64_t left = request.bytes;
  if (request.own != nullptr) take_lots(request.own, left, waits);
  const std::int64_t part = std::min(left, free_);
  free_ -= part;
  left -= part;
  take_lots(nullptr, left, waits);
  return DeviceBlock{.bytes = request.bytes};
}

std::optional<StreamPoint> CountedMemory::to_wait_for(bool any) const {
  for (const Lot& lot : others_)
    if (lot.sync != Sync::Stream && (any || lot.sync != Sync::None))
      for (const StreamPoint& point : lot.after)
        if (!point.reached()) return point;
  return std::nullopt;
}

}  // namespace uvmsim
