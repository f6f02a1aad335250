// What kernels did with fetched pages: a page copied in and then overwritten whole was copied for nothing.
#include <algorithm>

#include "uvm/driver_state.h"

namespace uvmsim {
namespace {

// Takes pages [first, outer) off the unread pages of `gpu`; those inside `dead` count as dead.
void note_use(DriverState& driver, GpuIndex gpu, int va_space, PageRange touched, PageRange dead) {
  DriverState::GpuTotals& totals = driver.totals(gpu);
  if (totals.unread_pages == 0) return;
  driver.space(va_space).for_each_block(touched.first, touched.outer, [&](VaBlock& block, BlockHandle) {
    GpuBlockState* state = block.find_gpu(gpu);
    if (state == nullptr || state->unread.none()) return;
    const PageNumber base = first_page_of(block.frame);
    const auto part = [&](PageRange pages) {
      const PageNumber first = std::max(pages.first, base);
      const PageNumber outer = std::min(pages.outer, base + kPagesPerBlock);
      return first >= outer ? PageMask{} : state->unread & PageMask::of({first - base, outer - base});
    };
    totals.dead_pages += part(dead).count();
    const PageMask used = part(touched);
    totals.unread_pages -= used.count();
    state->unread -= used;
  });
}

PageRange touched_pages(VirtualAddress address, Bytes size) {
  return {page_of(address), page_of(address + static_cast<VirtualAddress>(size.value) - 1) + 1};
}

PageRange covered_pages(VirtualAddress address, Bytes size) {
  return {page_of(address + kPageBytes - 1), page_of(address + static_cast<VirtualAddress>(size.value))};
}

}  // namespace

void UvmDriver::note_read(GpuIndex gpu, int va_space, VirtualAddress address, Bytes size) {
  if (size.value > 0) note_use(*state_, gpu, va_space, touched_pages(address, size), {});
}

void UvmDriver::note_overwritten(GpuIndex gpu, int va_space, VirtualAddress address, Bytes size) {
  if (size.value > 0) note_use(*state_, gpu, va_space, touched_pages(address, size), covered_pages(address, size));
}

}  // namespace uvmsim
