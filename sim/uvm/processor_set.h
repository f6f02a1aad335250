// A set of processors. Driver: uvm_processor_mask_t.
#pragma once

#include <bit>
#include <cstdint>

#include "base/units.h"

namespace uvmsim {

inline constexpr int kMaxProcessors = 128;

class ProcessorSet {
 public:
  constexpr bool contains(ProcessorId p) const { return words_[word(p)] >> bit(p) & 1; }
  constexpr void insert(ProcessorId p) { words_[word(p)] |= std::uint64_t{1} << bit(p); }
  constexpr void erase(ProcessorId p) { words_[word(p)] &= ~(std::uint64_t{1} << bit(p)); }
  constexpr bool empty() const { return (words_[0] | words_[1]) == 0; }
  constexpr int count() const { return std::popcount(words_[0]) + std::popcount(words_[1]); }
  // The member with the lowest id. Requires a member.
  constexpr ProcessorId first() const {
    return {static_cast<std::int8_t>(words_[0] != 0 ? std::countr_zero(words_[0]) : 64 + std::countr_zero(words_[1]))};
  }
  // Calls `visit(ProcessorId)` in ascending order.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (int at = 0; at < 2; ++at)
      for (std::uint64_t bits = words_[at]; bits != 0; bits &= bits - 1)
        visit(ProcessorId{static_cast<std::int8_t>(64 * at + std::countr_zero(bits))});
  }
  friend constexpr bool operator==(const ProcessorSet&, const ProcessorSet&) = default;
  friend constexpr ProcessorSet operator&(ProcessorSet a, ProcessorSet b) {
    return ProcessorSet(a.words_[0] & b.words_[0], a.words_[1] & b.words_[1]);
  }
  friend constexpr ProcessorSet operator|(ProcessorSet a, ProcessorSet b) {
    return ProcessorSet(a.words_[0] | b.words_[0], a.words_[1] | b.words_[1]);
  }
  // Every member of this set is a member of `other`.
  constexpr bool subset_of(ProcessorSet other) const { return (*this & other) == *this; }

  constexpr ProcessorSet() = default;

 private:
  constexpr ProcessorSet(std::uint64_t low, std::uint64_t high) : words_{low, high} {}
  static constexpr int word(ProcessorId p) { return p.value >> 6; }
  static constexpr int bit(ProcessorId p) { return p.value & 63; }
  std::uint64_t words_[2] = {};
};

}  // namespace uvmsim
