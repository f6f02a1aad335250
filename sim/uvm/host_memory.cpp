#include "uvm/host_memory.h"

#include <algorithm>

namespace uvmsim {
namespace {

PageMask& small_pages(CpuBlockState& cpu) {
  if (!cpu.small_pages) cpu.small_pages = std::make_unique<PageMask>();
  return *cpu.small_pages;
}

// Stores `backed` as 64 KiB chunks where `big` allows and whole ones fit, else as 4 KiB chunks.
void store(CpuBlockState& cpu, const PageMask& backed, std::uint32_t big) {
  cpu = {cpu.resident, cpu.mapped, false, 0, nullptr};
  PageMask rest = backed;
  for (; big != 0; big &= big - 1) {
    const auto group = static_cast<std::uint32_t>(std::countr_zero(big));
    const PageRegion pages{group * kPagesPerBigPage, (group + 1) * kPagesPerBigPage};
    if (backed.count(pages) != static_cast<int>(kPagesPerBigPage)) continue;
    cpu.big_chunks |= 1u << group;
    rest.reset(pages);
  }
  if (rest.any()) small_pages(cpu) = rest;
}

}  // namespace

NewHostPages HostMemory::populate(VaBlock& block, const PageMask& pages) {
  CpuBlockState& cpu = block.cpu;
  if (cpu.whole_chunk) return {};
  const PageMask backed = block.cpu_backed();
  const PageMask missing = pages - backed;
  if (missing.none()) return {};
  const PageMask nowhere = block.pages() - block.resident_anywhere();
  PageMask added, zeroed = missing & nowhere;
  if (block.policy.system) {
    small_pages(cpu) |= missing;
    added = missing;
  } else if (whole_chunks_ && block.whole() && backed.none()) {
    cpu.whole_chunk = true;
    added = PageMask::all();
    if (nowhere.any()) zeroed = added;
  } else if (big_chunks_) {
    for_each_page(missing, [&](std::uint32_t page) {
      const std::uint32_t group = page / kPagesPerBigPage;
      const PageRegion big{group * kPagesPerBigPage, (group + 1) * kPagesPerBigPage};
      if (cpu.big_chunks >> group & 1) return;  // an earlier page of this loop brought it
      if (big.first >= block.region.first && big.outer <= block.region.outer && backed.count(big) == 0) {
        cpu.big_chunks |= 1u << group;
        added.set(big);
        if (nowhere.count(big) > 0) zeroed.set(big);
      } else {
        small_pages(cpu).set(page);
        added.set(page);
      }
    });
  } else {
    small_pages(cpu) |= missing;
    added = missing;
  }
  count(added.count());
  return {added, zeroed};
}

void HostMemory::release(VaBlock& block) {
  count(-block.cpu_backed().count());
  block.cpu = {};
}

void HostMemory::count(std::int64_t pages) {
  used_ += Bytes{pages * kPageBytes};
  peak_ = std::max(peak_, used_);
}

void split_host_chunks(VaBlock& front, VaBlock& back) {
  PageMask backed = front.cpu_backed();
  backed |= back.cpu_backed();
  const std::uint32_t big = front.cpu.whole_chunk ? 0xffffffffu : front.cpu.big_chunks;
  store(back.cpu, backed & back.pages(), big);
  store(front.cpu, backed & front.pages(), big);
}

}  // namespace uvmsim
