// Numbers that look random and are the same on every machine.
#pragma once

#include <cstdint>

namespace uvmsim {

// The n-th of them (splitmix64).
constexpr std::uint64_t scramble(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15ULL;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ULL;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebULL;
  return n ^ (n >> 31);
}

// A number for a sequence, which depends on the order: two that differ share it by chance only, of 2^-64.
class Digest {
 public:
  Digest& add(std::uint64_t value) {
    value_ = scramble(value_ ^ value);
    return *this;
  }
  Digest& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace uvmsim
