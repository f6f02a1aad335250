// The invariants of the driver's state (design style 4.3, items 2 to 5), over every block and chunk.
#include <map>
#include <set>

#include "base/check.h"
#include "uvm/driver_state.h"

namespace uvmsim {
namespace {

void audit_holders(const VaBlock& block) {
  PageMask once = block.cpu.resident, twice;
  for (const GpuBlockState& gpu : block.gpus) {
    twice |= once & gpu.resident;
    once |= gpu.resident;
  }
  UVMSIM_CHECK(twice == block.read_duplicated(), "a page has several holders exactly when it is read-duplicated");
  UVMSIM_CHECK((once - block.pages()).none(), "a page outside its block is resident");
  UVMSIM_CHECK((block.discarded() - once).none(), "a page resident nowhere is discarded");
}

// Of each mask that the driver moves pages by.
void audit_host_pages(const HostPages& host_pages, const VaBlock& block) {
  const auto whole = [&](const PageMask& pages) { return host_pages.outwards(pages) == pages; };
  bool all = whole(block.pages()) && whole(block.cpu.resident) && whole(block.cpu.mapped) && whole(block.discarded());
  for (const GpuBlockState& gpu : block.gpus)
    all = all && whole(gpu.resident) && whole(gpu.pte_read) && whole(gpu.pte_write);
  UVMSIM_CHECK(all, "a part of a page of the host is somewhere else than the rest");
}

void audit_mappings(const DriverState& driver, const VaBlock& block) {
  PageMask in_reach;
  driver.topology.accessible(ProcessorId::cpu()).for_each([&](ProcessorId where) {
    in_reach |= block.resident(where);
  });
  UVMSIM_CHECK((block.cpu.mapped - in_reach).none(), "the CPU maps a page that is resident where it cannot reach");
  UVMSIM_CHECK((block.cpu.resident - block.cpu_backed()).none(), "a page resident on the host has no memory");
  const PageMask duplicated = block.read_duplicated();
  UVMSIM_CHECK((block.cpu_writable() & duplicated).none(), "the CPU may write a read-duplicated page");
  for (const GpuBlockState& gpu : block.gpus) {
    UVMSIM_CHECK(block.policy.system || (gpu.resident - block.gpu_backed(gpu)).none(),
                 "a page resident on a GPU has no chunk there");
    UVMSIM_CHECK((gpu.pte_write - gpu.pte_read).none(), "a GPU may write a page it may not read");
    UVMSIM_CHECK((gpu.pte_write & duplicated).none(), "a GPU may write a read-duplicated page");
    UVMSIM_CHECK((gpu.unread - gpu.resident).none(), "a page that left the GPU is still unread");
    PageMask reachable;
    driver.topology.accessible(ProcessorId::gpu(gpu.gpu)).for_each([&](ProcessorId where) {
      reachable |= block.resident(where);
    });
    if (block.policy.system) reachable = block.resident_anywhere();  // coherent memory, one address map for all
    UVMSIM_CHECK((gpu.pte_read - reachable).none(), "a GPU maps a page that is resident where it cannot reach");
    UVMSIM_CHECK((gpu.pte_read & duplicated & ~gpu.resident).none(), "a GPU maps a read-duplicated page remotely");
  }
}

// Every chunk a block believes it has, the memory manager believes it gave to that block, and vice versa.
void audit_chunks(const DriverState& driver, const VaBlock& block, BlockHandle handle,
                  IndexedVector<GpuIndex, std::map<RootChunkIndex, PageMask>>& claimed) {
  for (const GpuBlockState& gpu : block.gpus) {
    const Pmm& memory = *driver.pmm[gpu.gpu];
    UVMSIM_CHECK(gpu.root == kNoRootChunk || block.whole(), "a ragged block has a whole root chunk");
    UVMSIM_CHECK(gpu.sub_chunks.empty() || !block.whole() || memory.chunk_pages() < kPagesPerBlock,
                 "a whole block has sub-chunks");
    const auto claim = [&](const SubChunk& chunk) {
      PageMask& used = claimed[gpu.gpu][chunk.root];
      const PageMask part = PageMask::of({chunk.offset, std::uint32_t{chunk.offset} + chunk.pages});
      UVMSIM_CHECK((used & part).none(), "a chunk backs two blocks");
      used |= part;
      bool known = false;
      for (const Pmm::Piece& piece : memory.pieces(chunk.root))
        known |= piece.owner == handle && piece.chunk.offset == chunk.offset && piece.chunk.pages == chunk.pages;
      UVMSIM_CHECK(known, "a chunk's owner in the memory manager is another block");
    };
    if (gpu.root != kNoRootChunk) claim({gpu.root, 0, 0, kPagesPerBlock});
    for (const SubChunk& chunk : gpu.sub_chunks) claim(chunk);
  }
}

}  // namespace

void UvmDriver::audit() const {
  const DriverState& driver = *state_;
  IndexedVector<GpuIndex, DriverState::GpuTotals> totals(driver.pmm.size());
  IndexedVector<GpuIndex, std::map<RootChunkIndex, PageMask>> claimed(driver.pmm.size());
  std::int64_t host_pages = 0;
  for (const VaSpace& space : driver.spaces) {
    space.for_each_block(PageNumber{}, PageNumber{0xffffffff}, [&](const VaBlock& block, BlockHandle handle) {
      audit_holders(block);
      audit_host_pages(driver.host_pages, block);
      audit_mappings(driver, block);
      audit_chunks(driver, block, handle, claimed);
      host_pages += block.cpu_backed().count();
      for (const GpuBlockState& gpu : block.gpus) {
        totals[gpu.gpu].resident_pages += gpu.resident.count();
        totals[gpu.gpu].unread_pages += gpu.unread.count();
      }
    });
  }
  UVMSIM_CHECK(host_pages * kPageBytes == driver.host.used().value, "host memory is counted wrong");
  for (const GpuIndex gpu : totals.indices()) {
    const Pmm& memory = *driver.pmm[gpu];
    memory.audit();
    UVMSIM_CHECK(totals[gpu].resident_pages == driver.gpu_totals[gpu].resident_pages, "resident pages counted wrong");
    UVMSIM_CHECK(totals[gpu].unread_pages == driver.gpu_totals[gpu].unread_pages, "unread pages counted wrong");
    UVMSIM_CHECK(static_cast<std::int64_t>(claimed[gpu].size()) == memory.evictable_count() + memory.held_count(),
                 "a chunk in use backs no block");
  }
}

}  // namespace uvmsim
