// The free CTA slots of a GPU, and the SM whose turn it is to get a CTA.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace uvmsim {

// Slot s belongs to SM s mod SMs.
class FreeSlots {
 public:
  // All slots [0, slots) are free; SM 0 has its turn.
  void reset(std::uint32_t sms, std::uint32_t slots) {
    sms_ = sms;
    depth_ = (slots + sms - 1) / sms;
    stacks_.resize(static_cast<std::size_t>(sms) * depth_);
    counts_.assign(sms, 0);
    any_.assign((sms + 63) / 64, 0);
    count_ = turn_ = 0;
    while (sm_of_slot_.size() < slots) sm_of_slot_.push_back(static_cast<std::uint16_t>(sm_of_slot_.size() % sms));
    for (std::uint32_t slot = 0; slot < slots; ++slot) add(slot);
  }
  void add(std::uint32_t slot) {
    const std::uint32_t sm = sm_of_slot_[slot];
    stacks_[sm * depth_ + counts_[sm]++] = slot;
    any_[sm / 64] |= std::uint64_t{1} << (sm % 64);
    ++count_;
  }
  // A slot of the next SM in turn that has one; not empty.
  std::uint32_t take() {
    const std::uint32_t sm = next_with_slot();
    const std::uint32_t slot = stacks_[sm * depth_ + --counts_[sm]];
    if (counts_[sm] == 0) any_[sm / 64] &= ~(std::uint64_t{1} << (sm % 64));
    turn_ = sm + 1 == sms_ ? 0 : sm + 1;
    --count_;
    return slot;
  }
  bool empty() const { return count_ == 0; }
  std::uint32_t turn() const { return turn_; }
  std::uint32_t sm_of(std::uint32_t slot) const { return sm_of_slot_[slot]; }
  // Which slot of an SM is free does not matter, only how many.
  bool same_as(const FreeSlots& other) const { return turn_ == other.turn_ && counts_ == other.counts_; }

 private:
  std::uint32_t next_with_slot() const {
    std::size_t word = turn_ / 64;
    std::uint64_t bits = any_[word] & (~std::uint64_t{0} << (turn_ % 64));
    while (bits == 0) {
      word = word + 1 == any_.size() ? 0 : word + 1;
      bits = any_[word];
    }
    return static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
  }

  std::uint32_t sms_ = 1, depth_ = 0, count_ = 0, turn_ = 0;
  std::vector<std::uint32_t> stacks_;  // depth_ per SM
  std::vector<std::uint16_t> counts_;  // per SM
  std::vector<std::uint64_t> any_;     // bit per SM: has a free slot
  std::vector<std::uint16_t> sm_of_slot_;
};

}  // namespace uvmsim
