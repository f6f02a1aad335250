// Numbers that look random and are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace uvmsim {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): where its n-th number is scramble(seed + (n - 1) * kScrambleStep).
inline constexpr std::uint64_t kScrambleStep = 0x9e3779b97f4a7c15ULL;
constexpr std::uint64_t scramble(std::uint64_t n) {
  n += kScrambleStep;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ULL;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebULL;
  return n ^ (n >> 31);
}

// Its numbers, one after the other.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return scramble(std::exchange(state_, state_ + kScrambleStep)); }
  // 0 .. outer - 1. The bias of the remainder is below 1e-10 for an `outer` of up to 2^30.
  std::size_t below(std::size_t outer) { return static_cast<std::size_t>(next() % outer); }

 private:
  std::uint64_t state_;
};

// A number for a sequence, which depends on the order: two that differ share it by chance only, of 2^-64.
class SequenceHash {
 public:
  SequenceHash& add(std::uint64_t value) {
    value_ = scramble(value_ ^ value);
    return *this;
  }
  SequenceHash& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace uvmsim
