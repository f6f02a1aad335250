// A set of SMs, in the order of their numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace uvmsim {

class SmSet {
 public:
  // Empty, of SMs [0, sms).
  void reset(std::int64_t sms) { words_.assign(static_cast<std::size_t>((sms + 63) / 64), 0); }
  void insert(std::uint32_t sm) { words_[sm / 64] |= std::uint64_t{1} << sm % 64; }
  bool contains(std::uint32_t sm) const { return (words_[sm / 64] >> sm % 64 & 1) != 0; }
  int size() const {
    int sms = 0;
    for (const std::uint64_t word : words_) sms += std::popcount(word);
    return sms;
  }
  void erase(std::uint32_t sm) { words_[sm / 64] &= ~(std::uint64_t{1} << sm % 64); }
  bool empty() const {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  // `visit` may erase the SM that it is called with.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
        visit(static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(word)));
  }
  // The first one from `sm` on, after the last one from 0 on. Not empty.
  std::uint32_t next(std::uint32_t sm) const {
    std::size_t i = sm / 64;
    std::uint64_t word = words_[i] >> sm % 64 << sm % 64;
    while (word == 0) {
      i = i + 1 == words_.size() ? 0 : i + 1;
      word = words_[i];
    }
    return static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(word));
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace uvmsim
