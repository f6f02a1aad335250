#include "uvm/prefetch/density.h"

#include <algorithm>
#include <array>
#include <bit>

namespace uvmsim {
namespace {

constexpr std::uint32_t kGroupPages = kPagesPerBigPage;  // the counts start at 16 leaves: one big page
constexpr std::uint32_t kGroups = kPagesPerBlock / kGroupPages;
constexpr std::uint32_t kGroupLevel = 4;  // log2(kGroupPages)

// The mask moved `pages` pages towards page 0; what falls out is lost.
PageMask moved_down(const PageMask& mask, std::uint32_t pages) {
  PageMask out;
  const std::size_t words = pages / 64;
  const std::uint32_t bits = pages % 64;
  for (std::size_t w = 0; w + words < PageMask::kWords; ++w) {
    std::uint64_t value = mask.word(w + words) >> bits;
    if (bits != 0 && w + words + 1 < PageMask::kWords) value |= mask.word(w + words + 1) << (64 - bits);
    out.set_word(w, value);
  }
  return out;
}

// Leaves [16 * group, 16 * group + 16) as the low bits.
std::uint32_t group_bits(const PageMask& mask, std::uint32_t group) {
  return static_cast<std::uint32_t>(mask.word(group / 4) >> (group % 4 * kGroupPages)) & 0xffffu;
}

// Step 3: a 64 KiB page (or ragged head or tail) with a fault and no thrashing page counts as wanted whole.
// Head and tail are the region's share of one 64 KiB frame each, so all units are clipped big pages.
PageMask grown(const PrefetchView& view, const DensityGeometry& geometry) {
  const PageMask region = PageMask::of(view.region);
  const PageMask faulted = view.faulted & region, thrashing = view.thrashing & region;
  if (geometry.big_pages.empty()) return faulted.any() && thrashing.none() ? region : PageMask{};
  PageMask out;
  for (std::size_t w = 0; w < PageMask::kWords; ++w) {
    std::uint64_t bits = 0;
    for (std::uint64_t unit = 0xffff; unit != 0; unit <<= kGroupPages)
      if ((faulted.word(w) & unit) != 0 && (thrashing.word(w) & unit) == 0) bits |= unit;
    out.set_word(w, bits);
  }
  return out & region;
}

// The number of set bits in each 16-bit quarter of a word, in that quarter.
std::uint64_t count_quarters(std::uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (bits + (bits >> 8)) & 0x00ff00ff00ff00ffu;
}

// Sums of leaves for every node of 16 leaves and more. Leaves beyond the tree's last one are clear.
class NodeCounts {
 public:
  explicit NodeCounts(const PageMask& leaves) {
    for (std::size_t w = 0; w < PageMask::kWords; ++w) {
      const std::uint64_t quarters = count_quarters(leaves.word(w));
      for (std::size_t q = 0; q < 4; ++q)
        counts_[kGroups + 4 * w + q] = static_cast<std::uint16_t>(quarters >> (16 * q));
    }
    for (std::size_t node = kGroups - 1; node > 0; --node)
      counts_[node] = static_cast<std::uint16_t>(counts_[2 * node] + counts_[2 * node + 1]);
  }
  std::uint32_t at(std::uint32_t level, std::uint32_t node) const {
    return counts_[(kGroups >> (level - kGroupLevel)) + node];
  }

 private:
  // A heap: 1 is the root, kGroups .. the nodes of 16 leaves.
  std::array<std::uint16_t, std::size_t{2} * kGroups> counts_;
};

// The tree in its own coordinates: leaf 0 is the first ghost leaf, or the region's first page.
struct Tree {
  PageMask leaves;
  DensityGeometry geometry;
  std::uint32_t threshold = 0;

  PageRegion node(std::uint32_t leaf, std::uint32_t level) const {
    const std::uint32_t first = leaf >> level << level;
    return {first, std::min(first + (1u << level), geometry.leaf_count)};
  }
  bool dense(std::uint32_t count, PageRegion node) const { return count * 100 > node.page_count() * threshold; }

  // The largest dense node of 16 leaves or more over `group`; empty when there is none.
  PageRegion largest_over_group(const NodeCounts& counts, std::uint32_t group) const {
    PageRegion best;
    for (std::uint32_t level = kGroupLevel; level < geometry.level_count; ++level) {
      const PageRegion candidate = node(group * kGroupPages, level);
      if (dense(counts.at(level, candidate.first >> level), candidate)) best = candidate;
    }
    return best;
  }

  // The largest dense node of fewer than 16 leaves over `leaf`; empty when there is none.
  PageRegion largest_below_group(std::uint32_t leaf) const {
    PageRegion best;
    for (std::uint32_t level = 0; level < std::min(kGroupLevel, geometry.level_count); ++level) {
      const PageRegion candidate = node(leaf, level);
      const std::uint32_t bits = group_bits(leaves, leaf / kGroupPages) >> candidate.first % kGroupPages;
      const auto count = static_cast<std::uint32_t>(std::popcount(bits & ((1u << candidate.page_count()) - 1)));
      if (dense(count, candidate)) best = candidate;
    }
    return best;
  }
};

// Step 5: from the tree to the pages of the frame, with the driver's clamp of a ragged head.
PageRegion to_pages(PageRegion node, const PrefetchView& view, const DensityGeometry& geometry, bool head_clamp_quirk) {
  const std::uint32_t region_first = view.region.first - view.block.first;  // block pages from here on
  const std::uint32_t region_outer = view.region.outer - view.block.first;
  std::uint32_t first = 0;
  if (head_clamp_quirk && region_first + node.first < geometry.offset)
    first = geometry.offset;
  else
    first = std::max(region_first + node.first, region_first + geometry.offset) - geometry.offset;
  const std::uint32_t outer = std::min(region_first + node.outer - geometry.offset, region_outer);
  if (first >= outer) return {};
  return {view.block.first + first, view.block.first + outer};
}

}  // namespace

DensityGeometry density_geometry(PageRegion region, bool ats, bool before_525) {
  constexpr std::uint32_t kWidest = 2 * kPagesPerBigPage;  // 128 KiB
  DensityGeometry g;
  const std::uint32_t big_first = (region.first + kPagesPerBigPage - 1) / kPagesPerBigPage * kPagesPerBigPage;
  const std::uint32_t big_outer = region.outer / kPagesPerBigPage * kPagesPerBigPage;
  if (big_first < big_outer && !ats) {
    g.big_pages = {big_first, big_outer};
    g.offset = big_first > region.first ? kPagesPerBigPage - (big_first - region.first) : 0;
  }
  g.leaf_count = region.page_count() + g.offset;
  const bool has_widest = (region.first + kWidest - 1) / kWidest < region.outer / kWidest;
  if (before_525 && has_widest && !ats) g.leaf_count = region.page_count() + region.first % kWidest;
  g.level_count = static_cast<std::uint32_t>(std::bit_width(g.leaf_count - 1)) + 1;
  return g;
}

DensityRules density_rules(const DriverConfig& config, const DriverTraits& traits) {
  return {config.uvm_perf_prefetch_threshold, traits.head_clamp_quirk, traits.prefetch_away_from_preferred};
}

PageMask dense_pages(const PrefetchView& view, const DensityRules& rules) {
  Tree tree;
  tree.geometry = density_geometry(view.region, view.ats, !rules.head_clamp_quirk);
  tree.threshold = static_cast<std::uint32_t>(rules.threshold_percent);
  const PageMask region = PageMask::of(view.region);
  tree.leaves = (view.resident | view.faulted) & region;
  if (!view.ats) tree.leaves |= grown(view, tree.geometry);
  const std::uint32_t first_leaf = view.region.first - tree.geometry.offset;
  tree.leaves = moved_down(tree.leaves, first_leaf);
  const PageMask asking = moved_down((view.faulted - view.thrashing) & region, first_leaf);

  const NodeCounts counts(tree.leaves);
  PageMask out;
  for (std::uint32_t group = 0; group * kGroupPages < tree.geometry.leaf_count; ++group) {
    std::uint32_t bits = group_bits(asking, group);
    if (bits == 0) continue;
    const PageRegion large = tree.largest_over_group(counts, group);
    if (!large.empty()) {
      out.set(to_pages(large, view, tree.geometry, rules.head_clamp_quirk));
      continue;
    }
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t leaf = group * kGroupPages + static_cast<std::uint32_t>(std::countr_zero(bits));
      const PageRegion small = tree.largest_below_group(leaf);
      if (!small.empty()) out.set(to_pages(small, view, tree.geometry, rules.head_clamp_quirk));
    }
  }
  return out;
}

PageMask density_hint(const PrefetchView& view, const DensityRules& rules) {
  if (view.ats) return dense_pages(view, rules);
  PageMask out;
  if (!view.resident_anywhere && view.to_preferred_location)
    out = PageMask::of(view.region);
  else if (view.preferred_location_set && !view.to_preferred_location && !rules.prefetch_away_from_preferred)
    return out;
  else
    out = dense_pages(view, rules);
  out -= view.faulted;
  if (view.to_cpu && !view.hmm) out -= view.resident & view.cpu_mapped;
  return out - view.thrashing;
}

namespace {

// The driver's own prefetcher.
class DensityPrefetch final : public PrefetchPolicy {
 public:
  DensityPrefetch(const DriverConfig& config, const DriverTraits& traits) : rules_(density_rules(config, traits)) {}
  PageMask prefetch(const PrefetchView& view) const override { return density_hint(view, rules_); }

 private:
  DensityRules rules_;
};

const bool kRegistered = add_plug_in<PrefetchPolicy, DensityPrefetch>(
    {.name = "density",
     .summary = "fetch the largest sub-tree of the block that is denser than the threshold",
     .source = "uvm_perf_prefetch.c: compute_prefetch_mask",
     .on_hardware = "nothing: what the driver does; its threshold is a module parameter"});

}  // namespace
}  // namespace uvmsim
