// A VA block: at most 2 MiB of one range, and where its pages are and who maps them.
//
// Masks are in pages of the 2 MiB frame, also for ragged blocks; bits outside `region` are never set.
// Driver: struct uvm_va_block_struct (section 1.1). Plain data: the functions next to it keep the invariants.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/page_mask.h"
#include "uvm/eviction/root_chunk.h"
#include "uvm/va_policy.h"

namespace uvmsim {

class ThrashingBlock;

// Names a VA block from outside its VaSpace. Stable until the block is freed.
struct BlockHandle {
  int va_space = 0;
  std::uint32_t index = 0;
  friend bool operator==(BlockHandle, BlockHandle) = default;
};

// A piece of a split root chunk behind pages [first, first + pages) of a ragged block.
struct SubChunk {
  RootChunkIndex root = kNoRootChunk;
  std::uint16_t offset = 0;  // first page inside the root chunk
  std::uint16_t first = 0;   // first page of the frame
  std::uint16_t pages = 0;   // 16 or 1; more after advice has split a block
  PageRegion region() const { return {first, std::uint32_t{first} + pages}; }
};

// What one GPU has of a block. Driver: uvm_va_block_gpu_state_t.
struct GpuBlockState {
  GpuIndex gpu{};
  RootChunkIndex root = kNoRootChunk;  // behind a whole block
  std::vector<SubChunk> sub_chunks;    // behind a ragged block, ascending
  PageMask resident;
  PageMask pte_read;   // the GPU's page table lets it read, here or remotely
  PageMask pte_write;  // subset of pte_read; covers atomics
  PageMask unread;     // copied in from the host and not used by a kernel since
};

// Calls `visit(root chunk, its pages of the frame)` for each chunk behind some of `pages`, ascending.
template <class Visit>
void for_each_chunk(const GpuBlockState& state, const PageMask& pages, Visit&& visit) {
  if (state.root != kNoRootChunk) visit(state.root, PageRegion{0, kPagesPerBlock});
  for (const SubChunk& chunk : state.sub_chunks)
    if (pages.count(chunk.region()) > 0) visit(chunk.root, chunk.region());
}

// What the host has of a block. A host ("CPU") chunk stays allocated when its pages move to a GPU.
struct CpuBlockState {
  PageMask resident;
  PageMask mapped;                        // CPU page-table entries exist (one for each page of the host)
  bool whole_chunk = false;               // one 2 MiB chunk behind the whole block
  std::uint32_t big_chunks = 0;           // bit g: a 64 KiB chunk behind pages [16g, 16g + 16)
  std::unique_ptr<PageMask> small_pages;  // pages behind which there is a 4 KiB chunk
};

// State few blocks need, allocated when they do.
struct RareBlockState {
  PageMask read_duplicated;  // resident on more than one processor
  PageMask discarded;        // contents not needed: not copied when they move
  PageMask cpu_read_only;    // of the CPU-mapped pages, those mapped without write permission
  std::unique_ptr<ThrashingBlock> thrashing;
  RareBlockState();
  ~RareBlockState();
};

struct VaBlock {
  VaBlock();
  ~VaBlock();
  VaBlock(VaBlock&&) noexcept;
  VaBlock& operator=(VaBlock&&) noexcept;

  FrameIndex frame{};
  std::uint32_t next_in_frame = 0xffffffff;  // another block of the same frame
  PageRegion region{};                       // its pages of the frame; empty: the slot is free
  VaPolicy policy;
  // Prefetch counters (section 3.1): faulted pages since the destination of services last changed.
  std::uint16_t faults_to_last_destination = 0;
  std::int8_t last_destination = -1;
  // The last migration by a fault or prefetch (section 5.1): where to and when.
  std::int8_t last_migration_to = -1;
  std::uint8_t thrashing_resets = 0;
  Time last_migration{};
  CpuBlockState cpu;
  boost::container::small_vector<GpuBlockState, 1> gpus;
  std::unique_ptr<RareBlockState> rare;

  bool whole() const { return region.page_count() == kPagesPerBlock; }
  PageMask pages() const { return PageMask::of(region); }
  PageNumber first_page() const { return first_page_of(frame) + region.first; }

  // The state of a GPU, or nullptr when it has never had any here.
  GpuBlockState* find_gpu(GpuIndex gpu);
  const GpuBlockState* find_gpu(GpuIndex gpu) const { return const_cast<VaBlock*>(this)->find_gpu(gpu); }
  GpuBlockState& gpu(GpuIndex gpu);  // created when missing; invalidates references to other GPUs' states
  RareBlockState& make_rare();

  const PageMask& resident(ProcessorId where) const;
  PageMask resident_anywhere() const;
  // Processors where `page` is resident.
  ProcessorSet holders(std::uint32_t page) const;
  PageMask read_duplicated() const { return rare ? rare->read_duplicated : PageMask{}; }
  PageMask thrashing_pages() const;
  PageMask discarded() const { return rare ? rare->discarded : PageMask{}; }
  PageMask cpu_writable() const { return rare ? cpu.mapped - rare->cpu_read_only : cpu.mapped; }
  // Pages with host memory behind them.
  PageMask cpu_backed() const;
  // Pages of `gpu` with a chunk behind them.
  PageMask gpu_backed(const GpuBlockState& state) const;
};

}  // namespace uvmsim
