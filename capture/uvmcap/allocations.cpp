#include "allocations.h"

#include <algorithm>

namespace uvmcap {

void Allocations::add(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_by_address_.insert_or_assign(address, bytes);
}

void Allocations::remove(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  bytes_by_address_.erase(address);
}

bool Allocations::contains(std::uint64_t word) const {
  const auto after = bytes_by_address_.upper_bound(word);
  if (after == bytes_by_address_.begin()) return false;
  const auto& [address, bytes] = *std::prev(after);
  return word - address < bytes;
}

std::vector<std::uint64_t> Allocations::pointers_in(std::span<const std::uint64_t> words) const {
  std::vector<std::uint64_t> found;
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t word : words) {
    if (contains(word) && std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
  }
  return found;
}

}  // namespace uvmcap
