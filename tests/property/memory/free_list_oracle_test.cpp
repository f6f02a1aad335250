// The free list against a map of granules, on random takes and inserts.
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "memory/free_list.h"

namespace uvmsim {
namespace {

constexpr int kGranules = 256;
constexpr int kHeads[] = {0, 64, 100, 101, 200};  // where driver allocations start

// Which granules are free; a block is a maximal run of them that no head interrupts.
class Granules {
 public:
  Granules() : free_(kGranules, true) {}

  struct Run {
    int first, size;
  };
  std::vector<Run> runs() const {
    std::vector<Run> runs;
    for (int i = 0; i < kGranules; ++i) {
      if (!free_[static_cast<std::size_t>(i)]) continue;
      const bool starts = runs.empty() || runs.back().first + runs.back().size != i || is_head(i);
      if (starts) runs.push_back({i, 0});
      ++runs.back().size;
    }
    return runs;
  }
  void set(int first, int size, bool free) {
    for (int i = first; i < first + size; ++i) free_[static_cast<std::size_t>(i)] = free;
  }
  static bool is_head(int granule) {
    for (const int head : kHeads)
      if (head == granule) return true;
    return false;
  }

 private:
  std::vector<bool> free_;
};

TEST(FreeList, EqualsAMapOfGranules) {
  FreeList list;
  for (std::size_t i = 0; i < std::size(kHeads); ++i) {
    const int end = i + 1 < std::size(kHeads) ? kHeads[i + 1] : kGranules;
    list.insert({static_cast<VirtualAddress>(kHeads[i]), end - kHeads[i], true});
  }
  Granules granules;
  std::mt19937_64 random(7);
  std::vector<FreeList::Block> taken;
  for (int step = 0; step < 20'000; ++step) {
    if (!taken.empty() && random() % 2 == 0) {
      const std::size_t i = random() % taken.size();
      list.insert(taken[i]);
      granules.set(static_cast<int>(taken[i].address), static_cast<int>(taken[i].size), true);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      const int size = static_cast<int>(random() % 24) + 1;
      const std::uint64_t kind = random() % 3;
      const auto block = kind == 0 ? list.take_best(size) : (kind == 1 ? list.take_first(size) : list.take_last(size));
      const Granules::Run* expected = nullptr;
      const std::vector<Granules::Run> runs = granules.runs();
      for (const Granules::Run& run : runs) {
        if (run.size < size) continue;
        const bool better = expected == nullptr || kind == 2 || (kind == 0 && run.size < expected->size);
        if (better) expected = &run;
      }
      ASSERT_EQ(block.has_value(), expected != nullptr) << "step " << step;
      if (!block) continue;
      const int first = kind == 2 ? expected->first + expected->size - size : expected->first;
      ASSERT_EQ(block->address, static_cast<VirtualAddress>(first)) << "step " << step;
      ASSERT_EQ(block->size, size);
      ASSERT_EQ(block->head, Granules::is_head(first));
      granules.set(first, size, false);
      taken.push_back(*block);
    }
    std::int64_t largest = 0;
    for (const Granules::Run& run : granules.runs()) largest = std::max<std::int64_t>(largest, run.size);
    ASSERT_EQ(list.largest(), largest);
  }
}

}  // namespace
}  // namespace uvmsim
