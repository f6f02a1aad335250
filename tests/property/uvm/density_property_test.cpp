// The word-wise prefetcher against one that looks at every page, written from section 3.2 of the specification.
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

using Bits = std::vector<bool>;

// Steps 1 to 5 for a block of `n` pages that starts `start` pages into its frame, in pages of the block.
Bits plain_density(int n, int start, int m0, int m1, const Bits& resident, const Bits& faulted, const Bits& thrashing,
                   int threshold, bool quirk) {
  int b0 = 0, b1 = 0;
  for (int p = m0; p + 16 <= m1; ++p)
    if ((start + p) % 16 == 0) {
      if (b1 == 0) b0 = p;
      b1 = p + 16;
    }
  const int offset = b0 > m0 ? 16 - (b0 - m0) : 0;
  const int leaves = m1 - m0 + offset;
  int levels = 1;
  while ((1 << (levels - 1)) < leaves) ++levels;
  Bits tree(static_cast<std::size_t>(leaves));
  const auto leaf = [&](int p) { return static_cast<std::size_t>(p - m0 + offset); };
  for (int p = m0; p < m1; ++p)
    tree[leaf(p)] = resident[static_cast<std::size_t>(p)] || faulted[static_cast<std::size_t>(p)];
  std::vector<std::pair<int, int>> units;
  if (b1 == 0) {
    units = {{m0, m1}};
  } else {
    units.push_back({m0, b0});
    for (int p = b0; p < b1; p += 16) units.push_back({p, p + 16});
    units.push_back({b1, m1});
  }
  for (const auto& [first, outer] : units) {
    bool grow = false;
    for (int p = first; p < outer; ++p) grow |= faulted[static_cast<std::size_t>(p)];
    for (int p = first; p < outer; ++p) grow &= !thrashing[static_cast<std::size_t>(p)];
    for (int p = first; grow && p < outer; ++p) tree[leaf(p)] = true;
  }
  Bits out(static_cast<std::size_t>(n));
  for (int p = m0; p < m1; ++p) {
    if (!faulted[static_cast<std::size_t>(p)] || thrashing[static_cast<std::size_t>(p)]) continue;
    int best_first = 0, best_outer = 0;
    for (int level = 0; level < levels; ++level) {
      const int first = static_cast<int>(leaf(p)) / (1 << level) * (1 << level);
      const int outer = std::min(first + (1 << level), leaves);
      int count = 0;
      for (int i = first; i < outer; ++i) count += tree[static_cast<std::size_t>(i)];
      if (count * 100 > (outer - first) * threshold) best_first = first, best_outer = outer;
    }
    int first = std::max(m0 + best_first - offset, m0);
    if (quirk && m0 + best_first < offset) first = offset;
    for (int i = first; i < std::min(m0 + best_outer - offset, m1); ++i) out[static_cast<std::size_t>(i)] = true;
  }
  return out;
}

Bits random_bits(std::mt19937_64& random, int n) {
  Bits out(static_cast<std::size_t>(n));
  const std::uint64_t runs = random() % 8;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const auto first = static_cast<std::size_t>(random() % static_cast<std::uint64_t>(n));
    const std::size_t length = random() % 2 ? 1 : random() % 100;
    for (std::size_t i = first; i < std::min(first + length, out.size()); ++i) out[i] = true;
  }
  return out;
}

PageMask mask_of(const Bits& bits, int start) {
  PageMask out;
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) out.set(static_cast<std::uint32_t>(start) + static_cast<std::uint32_t>(i));
  return out;
}

TEST(DensityProperty, EqualsThePlainAlgorithm) {
  std::mt19937_64 random(20240607);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  for (int trial = 0; trial < 30000; ++trial) {
    const int start = trial % 3 == 0 ? 0 : below(512);
    const int n = trial % 6 == 0 ? 512 : 1 + below(512 - start);
    int m0 = 0, m1 = n;
    if (trial % 5 == 0) m0 = below(n), m1 = m0 + 1 + below(n - m0);
    const Bits resident = random_bits(random, n), faulted = random_bits(random, n);
    const Bits thrashing = trial % 4 == 0 ? random_bits(random, n) : Bits(static_cast<std::size_t>(n));
    const int threshold = below(101);
    const bool quirk = trial % 2 == 0;
    if (!quirk && start % 32 != start % 16) continue;  // drivers before 525 also have other leaves
    PrefetchView view;
    const auto at = [&](int page) { return static_cast<std::uint32_t>(start + page); };
    view.block = {at(0), at(n)};
    view.region = {at(m0), at(m1)};
    if (!quirk && (start + m0) % 32 != (start + m0) % 16) continue;
    view.resident = mask_of(resident, start);
    view.faulted = mask_of(faulted, start);
    view.thrashing = mask_of(thrashing, start);
    const Bits plain = plain_density(n, start, m0, m1, resident, faulted, thrashing, threshold, quirk);
    ASSERT_EQ(dense_pages(view, {threshold, quirk}), mask_of(plain, start))
        << "trial " << trial << ": " << n << " pages from " << start << ", region " << m0 << ".." << m1
        << ", threshold " << threshold << ", quirk " << quirk;
  }
}

}  // namespace
}  // namespace uvmsim
