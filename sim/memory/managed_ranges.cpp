#include "memory/managed_ranges.h"

#include <iterator>

#include "base/check.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kPlaceBytes = 512;            // places are multiples of it
constexpr std::int64_t kOwnRange = 2 * kBlockBytes;  // requests from here on have a VA range of their own

constexpr std::int64_t whole(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Requests of whole blocks leave nothing of them to others.
bool shares(Bytes size) { return size.value < kOwnRange && size.value % kBlockBytes != 0; }

}  // namespace

ManagedRanges::Place ManagedRanges::allocate(Bytes size) {
  if (!shares(size)) return allocate_alone(size);
  const std::int64_t bytes = whole(size.value, kPlaceBytes);
  Bytes made;
  std::optional<FreeList::Block> place = free_.take_best(bytes);
  if (!place) {
    made = Bytes{whole(bytes, kBlockBytes)};
    free_.insert({make_range(made.value, true), made.value, true});
    place = free_.take_best(bytes);
  }
  ++std::prev(ranges_.upper_bound(place->address))->second.allocations;
  taken_[place->address] = bytes;
  return {place->address, made};
}

ManagedRanges::Place ManagedRanges::allocate_alone(Bytes size) {
  const std::int64_t bytes = whole(size.value, kPageBytes);
  return {make_range(bytes, false), Bytes{bytes}};
}

ManagedRanges::Freed ManagedRanges::free(VirtualAddress address) {
  UVMSIM_CHECK(ranges_.upper_bound(address) != ranges_.begin(), "only managed memory that was allocated is freed");
  const auto at = std::prev(ranges_.upper_bound(address));
  const auto [start, range] = *at;
  if (range.shared) {
    free_.insert({address, taken_.at(address), address == start});
    taken_.erase(address);
    if (--at->second.allocations > 0) return {start, false};
    free_.take(start);
  }
  ranges_.erase(at);
  return {start, true};
}

VirtualAddress ManagedRanges::make_range(std::int64_t bytes, bool shared) {
  const VirtualAddress start = next_;
  next_ += static_cast<VirtualAddress>(whole(bytes, kBlockBytes));
  ranges_[start] = {bytes, 0, shared};
  return start;
}

}  // namespace uvmsim
