// The density prefetcher: a binary tree over a VA block, whose dense sub-trees are fetched whole.
//
// Source: driver specification, section 3; uvm_perf_prefetch.c.
#pragma once

#include <cstdint>

#include "base/page_mask.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {

// The tree over a region of a block. It is aligned to 64 KiB of virtual addresses, not to 2 MiB: `offset`
// ghost leaves stand before the region's first page when a big page lies inside the region.
struct DensityGeometry {
  std::uint32_t offset = 0;
  std::uint32_t leaf_count = 0;   // offset + pages of the region (more before 525)
  std::uint32_t level_count = 0;  // ceil(log2(leaf_count)) + 1
  PageRegion big_pages;           // the 64 KiB-aligned part of the region; empty: {0, 0}
};

// Section 3.2 step 1. `region` is in pages of the frame. `ats`: no ghost leaves. `before_525`: leaves are counted
// as if big pages had 128 KiB, which leaves ghosts behind the region's last page too (section 3.4;
// uvm_perf_prefetch.c of 515: prefetch_info_get_create).
DensityGeometry density_geometry(PageRegion region, bool ats, bool before_525);

// What the algorithm depends on besides the view.
struct DensityRules {
  int threshold_percent = 51;  // strictly more than this share of a sub-tree makes it dense; 0 .. 100
  // The tree of 525 and later, which clamps ragged heads in block pages. Before: clamped in tree leaves (exact),
  // but with leaves for 128 KiB pages.
  bool head_clamp_quirk = true;
  bool prefetch_away_from_preferred = false;
};

// Those of a driver.
DensityRules density_rules(const DriverConfig& config, const DriverTraits& traits);

// The pages of the largest dense sub-trees around the faulted pages: steps 1 to 5. Includes faulted pages.
PageMask dense_pages(const PrefetchView& view, const DensityRules& rules);

// The prefetch hint: special cases of section 3.1, then the tree, then step 6.
PageMask density_hint(const PrefetchView& view, const DensityRules& rules);

}  // namespace uvmsim
