#include "gpu/walk_memory.h"

#include <algorithm>

#include "base/scramble.h"

namespace uvmsim {

// --- what is known of kernels that begin alike

std::optional<std::uint32_t> KnownWalks::after(std::uint32_t stretch, std::uint64_t action) const {
  for (const auto& [seen, next] : stretches_[stretch].next)
    if (seen == action) return next;
  return std::nullopt;
}

std::uint32_t KnownWalks::add(std::uint32_t stretch, std::uint64_t action) {
  const auto added = static_cast<std::uint32_t>(stretches_.size());
  stretches_[stretch].next.emplace_back(action, added);
  stretches_.emplace_back();
  bytes_ += sizeof(Stretch) + sizeof(stretches_[stretch].next.front());
  return added;
}

// --- of all kernels

std::size_t WalkMemory::kind_of(const GpuSpec& gpu) {
  const auto same = [&](const GpuSpec& o) {
    return o.sms == gpu.sms && o.max_threads_per_sm == gpu.max_threads_per_sm &&
           o.max_ctas_per_sm == gpu.max_ctas_per_sm && o.fault == gpu.fault;
  };
  const auto known = std::ranges::find_if(kinds_, same);
  const auto kind = static_cast<std::size_t>(known - kinds_.begin());
  if (known == kinds_.end()) kinds_.push_back(gpu);
  return kind;
}

std::shared_ptr<KnownWalks> WalkMemory::find(const WalkStart& start) {
  const auto [place, added] = places_.try_emplace(start);
  if (added)
    known_.push_front({start});
  else
    known_.splice(known_.begin(), known_, place->second);
  place->second = known_.begin();
  return known_.front().walks;
}

void WalkMemory::settle(const WalkStart& start) {
  const auto place = places_.find(start);
  if (place == places_.end()) return;
  Known& known = *place->second;
  bytes_ += known.walks->bytes() - known.bytes;
  known.bytes = known.walks->bytes();
  while (bytes_ > most_) {
    bytes_ -= known_.back().bytes;
    places_.erase(known_.back().start);
    known_.pop_back();
  }
}

// --- what is granted

namespace {

// Of pages [first, first + 64) of a range, as far as they are in it.
std::uint64_t granted_part(const PageTable& pages, const OperandPages& range, std::size_t number, std::uint32_t first) {
  const PageNumber page = range.first + first;
  const std::uint32_t left = range.outer - page;
  const std::uint64_t inside = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
  const std::uint64_t readable = pages.granted_word(page, false) & inside;
  if (readable == 0) return 0;
  const std::uint64_t writable = pages.granted_word(page, true) & inside;
  return Digest().add(std::uint64_t{first} << 8 | number).add(readable).add(writable).value();
}

std::uint64_t granted_parts(const PageTable& pages, const OperandPages& range, std::size_t number, PageNumber first,
                            PageNumber outer) {
  std::uint64_t sum = 0;
  for (std::uint32_t at = (first - range.first) / 64 * 64; at < outer - range.first; at += 64)
    sum += granted_part(pages, range, number, at);
  return sum;
}

}  // namespace

std::uint64_t granted_sum(const PageTable& pages, std::span<const OperandPages> ranges) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    sum += granted_parts(pages, ranges[i], i, ranges[i].first, ranges[i].outer);
  return sum;
}

std::uint64_t granted_sum(const PageTable& pages, std::span<const OperandPages> ranges, FrameIndex frame) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PageNumber first = std::max(ranges[i].first, first_page_of(frame));
    const PageNumber outer = std::min(ranges[i].outer, first_page_of(frame + 1));
    if (first < outer) sum += granted_parts(pages, ranges[i], i, first, outer);
  }
  return sum;
}

}  // namespace uvmsim
