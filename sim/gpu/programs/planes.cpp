#include "gpu/programs/planes.h"

#include <algorithm>

#include "gpu/programs/sweep.h"

namespace uvmsim {

std::int64_t Planes::next_missing_piece(std::int64_t image, std::int64_t channel, std::int64_t channel_end,
                                        std::int64_t from, std::int64_t to, bool store, const PageTable& pages) const {
  const std::int64_t start = image * image_bytes(), end = start + image_bytes();
  for (std::int64_t c = channel; c < std::min(channel_end, channels); ++c) {
    const std::int64_t missing = next_missing(start + c * plane + from, end, store, pages);
    if (missing == end) break;
    c = (missing - start) / plane;
    const std::int64_t last = start + c * plane + to;
    if (next_missing(last - to + from, last, store, pages) != last) return std::min(c, channel_end);
  }
  return channel_end;
}

void PageTouches::add(const Planes& planes, std::int64_t from, std::int64_t to, std::int64_t warps, bool write) {
  to = std::min(to, planes.faulting);
  if (from >= to) return;
  const PageNumber first = planes.page(from), outer = planes.page(to - 1) + 1;
  const std::int64_t lines = ceil_div((to - from) / (outer - first), kLineBytes);
  add({first, static_cast<std::uint16_t>(std::clamp<std::int64_t>(lines, 1, warps)), write, outer - first, 1});
}

void PageTouches::add(const Touch& touch) {
  const auto beside = [&](const Touch& other) { return other.outer() <= touch.page || touch.outer() <= other.page; };
  if (touch.page >= outer_ || std::ranges::all_of(touches_, beside)) {
    append(touch);
  } else {
    for (std::uint32_t i = 0; i < touch.pages; ++i) add_touch(touches_, {touch.at(i), touch.weight, touch.write});
  }
  outer_ = std::max(outer_, touch.outer());
}

void PageTouches::add_pieces(const Planes& planes, std::int64_t image, std::int64_t channel, std::int64_t channel_end,
                             std::int64_t from, std::int64_t to, bool write) {
  const std::int64_t start = image * planes.image_bytes() + from;
  channel_end = std::min({channel_end, planes.channels, ceil_div(planes.faulting - start, planes.plane)});
  if (channel >= channel_end) return;
  const std::int64_t first = start + channel * planes.plane, last = start + (channel_end - 1) * planes.plane;
  const std::int64_t bytes = to - from;
  if (planes.plane <= kPageBytes) return add(planes, first, last + bytes, 1, write);  // no page between is left out
  const PageNumber page = planes.page(first);
  if (planes.plane % kPageBytes == 0 && planes.page(first + bytes - 1) == page) {
    const auto pages = static_cast<std::uint32_t>(channel_end - channel);
    return add({page, 1, write, pages, static_cast<std::uint32_t>(planes.plane / kPageBytes)});
  }
  for (std::int64_t at = first; at <= last; at += planes.plane) add(planes, at, at + bytes, 1, write);
}

void PageTouches::append(const Touch& touch) {
  if (!touches_.empty()) {
    Touch& last = touches_.back();
    if (last.at(last.pages) == touch.page && last.stride == touch.stride && last.weight == touch.weight &&
        last.write == touch.write) {
      last.pages += touch.pages;
      return;
    }
  }
  touches_.push_back(touch);
}

}  // namespace uvmsim
