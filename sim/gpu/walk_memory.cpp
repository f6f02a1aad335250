#include "gpu/walk_memory.h"

#include <algorithm>
#include <utility>

#include "base/scramble.h"

namespace uvmsim {

// --- what is known of kernels that begin alike

std::optional<std::uint32_t> KnownWalks::after(std::uint32_t stretch, std::uint64_t action) const {
  for (std::uint32_t child = stretches_[stretch].child; child != kRoot; child = stretches_[child].sibling)
    if (stretches_[child].action == action) return child;
  return std::nullopt;
}

std::uint32_t KnownWalks::add(std::uint32_t stretch, std::uint64_t action) {
  const auto added = static_cast<std::uint32_t>(stretches_.size());
  stretches_.emplace_back();
  stretches_.back().action = action;
  stretches_.back().sibling = std::exchange(stretches_[stretch].child, added);
  bytes_ += sizeof(Stretch);
  return added;
}

void KnownWalks::shrink_to_fit() {
  stretches_.shrink_to_fit();
  for (Stretch& stretch : stretches_) stretch.entries.shrink_to_fit();
}

namespace {

void put(std::vector<std::uint8_t>& bytes, std::uint64_t number) {
  for (; number >= 128; number >>= 7) bytes.push_back(static_cast<std::uint8_t>(number | 128));
  bytes.push_back(static_cast<std::uint8_t>(number));
}

// Small numbers for those near 0.
std::uint64_t folded(std::int64_t n) {
  return static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63);
}

}  // namespace

void KnownWalks::write(std::uint32_t stretch, Place& place, const Entry& entry) {
  std::vector<std::uint8_t>& bytes = stretches_[stretch].entries;
  const std::size_t before = bytes.size();
  const Duration apart = entry.at - place.last.at;
  const bool as_late = apart == place.apart, same_range = entry.range == place.last.range;
  const std::uint32_t utlb = std::min<std::uint32_t>(entry.utlb, kUtlbs);
  bytes.push_back(static_cast<std::uint8_t>((entry.write ? kWrites : 0) | (as_late ? kAsLate : 0) |
                                            (same_range ? kSameRange : 0) | utlb << 3));
  if (utlb == kUtlbs) put(bytes, entry.utlb);
  if (!as_late) put(bytes, folded((apart - place.apart).count()));
  if (!same_range) put(bytes, entry.range);
  put(bytes, folded(std::int64_t{entry.page} - place.last.page));
  bytes_ += bytes.size() - before;
  const std::uint32_t passed = place.passed + 1;
  for (Place* p : {&place, &stretches_[stretch].end}) {  // member by member: see Ring::push
    p->byte = bytes.size();
    p->last.at = entry.at;
    p->last.page = entry.page;
    p->last.range = entry.range;
    p->last.utlb = entry.utlb;
    p->last.write = entry.write;
    p->apart = apart;
    p->passed = passed;
    p->waits = false;
  }
}

const KnownWalks::Entry* KnownWalks::look(std::uint32_t stretch, Place& place) const {
  if (place.waits) return &place.last;
  const std::vector<std::uint8_t>& bytes = stretches_[stretch].entries;
  if (place.byte == bytes.size()) return nullptr;
  read(bytes.data(), place);
  place.waits = true;
  return &place.last;
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
  if (known.walks->bytes() == known.bytes) return;
  known.walks->shrink_to_fit();
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
std::uint64_t granted_part(const PageTable& pages, const PageRange& range, std::size_t number, std::uint32_t first) {
  const PageNumber page = range.first + first;
  const std::uint32_t left = range.outer - page;
  const std::uint64_t inside = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
  const std::uint64_t readable = pages.granted_word(page, false) & inside;
  if (readable == 0) return 0;
  const std::uint64_t writable = pages.granted_word(page, true) & inside;
  return SequenceHash().add(std::uint64_t{first} << 32 | number).add(readable).add(writable).value();
}

std::uint64_t granted_parts(const PageTable& pages, const PageRange& range, std::size_t number, PageNumber first,
                            PageNumber outer) {
  std::uint64_t sum = 0;
  for (std::uint32_t at = (first - range.first) / 64 * 64; at < outer - range.first; at += 64)
    sum += granted_part(pages, range, number, at);
  return sum;
}

}  // namespace

std::uint64_t granted_sum(const PageTable& pages, std::span<const PageRange> ranges) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    sum += granted_parts(pages, ranges[i], i, ranges[i].first, ranges[i].outer);
  return sum;
}

std::uint64_t granted_sum(const PageTable& pages, std::span<const PageRange> ranges, FrameIndex frame) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const PageNumber first = std::max(ranges[i].first, first_page_of(frame));
    const PageNumber outer = std::min(ranges[i].outer, first_page_of(frame + 1));
    if (first < outer) sum += granted_parts(pages, ranges[i], i, first, outer);
  }
  return sum;
}

}  // namespace uvmsim
