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

// By page; of one page, the most demanding access first, and of those what stands for most entries: the driver's sort
// leaves these to chance. Sorted as numbers: without a branch that goes either way for each comparison.
void sort(std::vector<FaultBatch::Representative>& faults) {
  constexpr std::uint64_t kInstances = (std::uint64_t{1} << 24) - 1, kAccess = 255;
  boost::container::small_vector<std::uint64_t, 256> keys;
  for (const FaultBatch::Representative& f : faults)
    keys.push_back(std::uint64_t{f.page.value} << 32 | (kAccess - static_cast<std::uint64_t>(f.access)) << 24 |
                   (kInstances - f.instances));
  boost::sort::pdqsort_branchless(keys.begin(), keys.end());
  for (std::size_t i = 0; i < keys.size(); ++i)
    faults[i] = {PageNumber{static_cast<std::uint32_t>(keys[i] >> 32)},
                 static_cast<AccessType>(kAccess - (keys[i] >> 24 & kAccess)),
                 static_cast<std::uint32_t>(kInstances - (keys[i] & kInstances))};
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
