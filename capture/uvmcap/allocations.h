#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace uvmcap {

// The live allocations of a process: tells which words of a kernel's arguments are device pointers without asking the
// driver, which must not be called in the middle of a launch. Thread-safe.
class Allocations {
 public:
  // An allocation at the address of a live one replaces it.
  void add(std::uint64_t address, std::uint64_t bytes);
  // Frees the allocation that begins at the address; others are ignored.
  void remove(std::uint64_t address);
  // Of the words, those inside a live allocation, in order, each once.
  std::vector<std::uint64_t> pointers_in(std::span<const std::uint64_t> words) const;

 private:
  bool contains(std::uint64_t word) const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> bytes_by_address_;
};

}  // namespace uvmcap
