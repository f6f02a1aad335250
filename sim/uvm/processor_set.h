// A set of processors. Driver: uvm_processor_mask_t.
#pragma once

#include <bit>
#include <cstdint>

#include "base/units.h"

namespace uvmsim {

inline constexpr int kMaxProcessors = 64;

class ProcessorSet {
 public:
  constexpr bool contains(ProcessorId p) const { return bits_ >> p.value & 1; }
  constexpr void insert(ProcessorId p) { bits_ |= std::uint64_t{1} << p.value; }
  constexpr void erase(ProcessorId p) { bits_ &= ~(std::uint64_t{1} << p.value); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int count() const { return std::popcount(bits_); }
  // The member with the lowest id. Requires a member.
  constexpr ProcessorId first() const { return {static_cast<std::int8_t>(std::countr_zero(bits_))}; }
  // Calls `visit(ProcessorId)` in ascending order.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (std::uint64_t bits = bits_; bits != 0; bits &= bits - 1)
      visit(ProcessorId{static_cast<std::int8_t>(std::countr_zero(bits))});
  }
  friend constexpr bool operator==(ProcessorSet, ProcessorSet) = default;
  friend constexpr ProcessorSet operator&(ProcessorSet a, ProcessorSet b) { return ProcessorSet(a.bits_ & b.bits_); }
  friend constexpr ProcessorSet operator|(ProcessorSet a, ProcessorSet b) { return ProcessorSet(a.bits_ | b.bits_); }
  // Every member of this set is a member of `other`.
  constexpr bool subset_of(ProcessorSet other) const { return (bits_ & ~other.bits_) == 0; }

  constexpr ProcessorSet() = default;

 private:
  constexpr explicit ProcessorSet(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

}  // namespace uvmsim
