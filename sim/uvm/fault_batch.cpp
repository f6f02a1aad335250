#include "uvm/fault_batch.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>

namespace uvmsim {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

// The last representative of each uTLB, by position. Few uTLBs fault in one batch, ids are small.
class LastOfUtlb {
 public:
  std::uint32_t& operator[](std::uint16_t utlb) {
    if (utlb >= last_.size()) last_.resize(utlb + 1u, kNone);
    return last_[utlb];
  }

 private:
  boost::container::small_vector<std::uint32_t, 64> last_;
};

// A representative as a number: in the order of numbers are the pages, and of one page the most demanding access first,
// of those what stands for most entries. The driver's sort leaves these to chance.
using Key = std::uint64_t;
using Keys = boost::container::small_vector<Key, 256>;

constexpr Key kInstances = (Key{1} << 24) - 1, kAccess = 255;

Key key_of(const FaultBatch::Representative& f) {
  return Key{f.page.value} << 32 | (kAccess - static_cast<Key>(f.access)) << 24 | (kInstances - f.instances);
}
FaultBatch::Representative representative_of(Key key) {
  return {PageNumber{static_cast<std::uint32_t>(key >> 32)}, static_cast<AccessType>(kAccess - (key >> 24 & kAccess)),
          static_cast<std::uint32_t>(kInstances - (key & kInstances))};
}

void sort(std::vector<FaultBatch::Representative>& faults) {
  Keys keys(faults.size(), boost::container::default_init);
  std::ranges::transform(faults, keys.begin(), key_of);
  boost::sort::pdqsort_branchless(keys.begin(), keys.end());
  std::ranges::transform(keys, faults.begin(), representative_of);
}

}  // namespace

void coalesce(std::span<const FaultEntry> entries, bool enabled, const HostPages& host_pages, FaultBatch& batch) {
  batch.faults.clear();
  batch.raw_entries = static_cast<std::uint32_t>(entries.size());
  batch.duplicates = 0;
  LastOfUtlb last_of_utlb;
  for (const FaultEntry& entry : entries) {
    const PageNumber page = host_pages.first(entry.page);
    std::uint32_t& same_utlb = last_of_utlb[entry.utlb];
    FaultBatch::Representative* into = nullptr;
    if (enabled && same_utlb != kNone && batch.faults[same_utlb].page == page)
      into = &batch.faults[same_utlb];
    else if (enabled && !batch.faults.empty() && batch.faults.back().page == page &&
             entry.access <= batch.faults.back().access)
      into = &batch.faults.back();
    if (into != nullptr) {
      into->access = std::max(into->access, entry.access);
      ++into->instances;
      ++batch.duplicates;
      continue;
    }
    same_utlb = static_cast<std::uint32_t>(batch.faults.size());
    batch.faults.push_back({page, entry.access, 1});
  }
}

void preprocess(VaSpace& space, FaultBatch& batch) {
  sort(batch.faults);
  batch.blocks.clear();
  PageNumber block_outer{};
  for (std::uint32_t i = 0; i < batch.faults.size(); ++i) {
    const PageNumber page = batch.faults[i].page;
    if (i > 0 && batch.faults[i - 1].page == page) ++batch.duplicates;
    if (batch.blocks.empty() || page >= block_outer) {
      batch.blocks.push_back({i, i});
      const VaBlock& block = space.block(space.block_at(page).index);
      block_outer = first_page_of(block.frame) + block.region.outer;
    }
    batch.blocks.back().outer = i + 1;
  }
}

}  // namespace uvmsim
