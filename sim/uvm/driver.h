// The UVM driver, pure: all page state and all decisions, no clock and no actor.
//
// One UvmDriver serves the whole machine. Methods decide, change the state at once, and return work for
// the engine to turn into time. Returned references stay valid until the next call of the same method
// with the same GPU. Source of every behaviour: the driver specification (open-gpu-kernel-modules
// 595.45.04 and the version notes), section numbers at each declaration.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/indexed_vector.h"
#include "base/page_mask.h"
#include "base/units.h"
#include "machine/machine.h"
#include "memory/program.h"
#include "uvm/work.h"

namespace uvmsim {

// One entry of the replayable fault buffer, as the hardware writes it. The bottom half reads entries of
// one VaSpace at a time here: a GPU runs kernels of one process at a time.
struct FaultEntry {
  PageNumber page{};
  AccessType access = AccessType::Read;
  std::uint16_t utlb = 0;
};

// A fetched batch: coalesced (section 2.2), sorted by page and access (2.3), cut at VA blocks (2.4).
struct FaultBatch {
  struct Representative {
    PageNumber page{};
    AccessType access = AccessType::Read;
    std::uint32_t instances = 1;
  };
  struct BlockFaults {  // representatives [first, outer) fall into one VA block
    std::uint32_t first = 0, outer = 0;
  };
  int va_space = 0;
  GpuIndex gpu{};
  std::uint32_t raw_entries = 0;
  std::uint32_t duplicates = 0;  // merged instances and adjacent duplicates
  std::vector<Representative> faults;
  std::vector<BlockFaults> blocks;
};

// What an access counter tells the driver: a GPU often accesses these pages where they are.
struct AccessNotification {
  int va_space = 0;
  FrameIndex frame{};
  PageMask pages;  // whole 64 KiB
};

// What a policy does besides faults: one frame's pages on their way in, or one chunk's on their way out.
struct AheadWork {
  int va_space = 0;
  FrameIndex frame{};
  BlockWork work;
  std::vector<std::uint32_t> chunks;  // in flight until `finish_ahead`
  bool out = false;
};

// An ongoing cudaMemPrefetchAsync: call `next` until it returns nullptr. Section 6.4.
class Migration;

class UvmDriver {
 public:
  explicit UvmDriver(const Machine& machine);
  ~UvmDriver();
  UvmDriver(const UvmDriver&) = delete;
  UvmDriver& operator=(const UvmDriver&) = delete;

  // --- address space (section 1)
  // A process; returns its number: 0, 1, ...
  int create_va_space();
  // A managed allocation at `address` (2 MiB-aligned, unused, chosen by the caller). Nothing is populated.
  void allocate_managed(int va_space, VirtualAddress address, Bytes size);
  // The same of memory from malloc: machines with ATS only (has_ats).
  void allocate_system(int va_space, VirtualAddress address, Bytes size);
  // Frees either: chunks go back, host pages go back. Returns the page-table writes that unmap it.
  std::vector<PageTableWrite> free_managed(int va_space, VirtualAddress address);
  // cudaMalloc: takes whole root chunks from `gpu` for good, evicting managed memory when
  // uvm_global_oversubscription allows; nullopt when even that is not enough.
  std::optional<std::vector<EvictionWork>> allocate_device(GpuIndex gpu, Bytes size);
  void free_device(GpuIndex gpu, Bytes size);

  // --- replayable faults (section 2)
  FaultBatch& fetch(GpuIndex gpu, int va_space, std::span<const FaultEntry> entries);
  // Services block `index` of the batch at time `now` (thrashing looks at the time).
  BlockWork& service(FaultBatch& batch, std::size_t index, Time now);
  // Whether the flush after `batch` reads PUT again (UPDATE_PUT) or uses the cached one.
  bool flush_updates_put(const FaultBatch& batch) const;

  // --- non-replayable faults: a copy engine touches `pages` of one frame on `gpu` (section 2.7)
  BlockWork& service_non_replayable(GpuIndex gpu, int va_space, FrameIndex frame, PageRegion pages, AccessType access,
                                    Time now);

  // --- access counters (section 7)
  // Whether the calls below have any effect for `gpu`.
  bool counts_accesses(GpuIndex gpu) const;
  // A kernel has accessed each of `pages`, which `gpu` maps remotely, `accesses` times.
  void count_accesses(GpuIndex gpu, int va_space, FrameIndex frame, const PageMask& pages, std::int64_t accesses);
  // Counters have reached their threshold and wait to be serviced.
  bool notified(GpuIndex gpu) const;
  // The next batch of notifications, sorted, which also clears their counters.
  std::vector<AccessNotification> fetch_notifications(GpuIndex gpu);
  // Moves what one of them is about to the GPU, where policies allow it.
  BlockWork& service(GpuIndex gpu, const AccessNotification& notification, Time now);

  // --- CPU faults (section 2.8)
  // True when the CPU may access the page as asked without a fault.
  bool cpu_can_access(int va_space, PageNumber page, AccessType access) const;
  // The first page in [first, outer) whose CPU access as asked faults; `outer` when none does.
  PageNumber next_cpu_fault(int va_space, PageNumber first, PageNumber outer, AccessType access) const;
  BlockWork& cpu_fault(int va_space, PageNumber page, AccessType access, Time now);
  // The CPU touches pages of memory from malloc up to `outer`, the first of which nobody has: those of the block that
  // nobody has become resident on the host. The operating system does it; of the driver's costs only those of pages
  // count.
  bool is_system(int va_space, PageNumber page) const;
  BlockWork& cpu_first_touch(int va_space, PageNumber first, PageNumber outer, Time now);

  // --- explicit migration (section 6.4), advice and discard (section 8)
  std::unique_ptr<Migration> migrate(int va_space, VirtualAddress address, Bytes size, ProcessorId destination);
  // advice: 1 ReadMostly, 2 PreferredLocation, 3 AccessedBy; negative unsets. Work per block, in order.
  std::vector<BlockWork> advise(int va_space, VirtualAddress address, Bytes size, int advice, ProcessorId processor);
  // `lazy`: mappings stay, so that only a migration makes the contents live again.
  std::vector<PageTableWrite> discard(int va_space, VirtualAddress address, Bytes size, bool lazy = false);

  // --- policies that look beyond faults
  // The program of a process: its device n is GPU gpus[n]. It must outlive the driver. For policies that need to know.
  void attach(int va_space, const Program& program, const IndexedVector<DeviceOrdinal, GpuIndex>& gpus);
  // Whether the two calls below have any effect.
  bool watches_operations() const;
  // Operation `op` of the process's program starts on `gpu`, and is over.
  void begin_operation(GpuIndex gpu, int va_space, std::uint32_t op);
  void end_operation(GpuIndex gpu, int va_space);
  // Whether the eviction (prefetch) policy ever has work for the background.
  bool evicts_ahead() const;
  bool prefetches_ahead() const;
  // The next such work, or nullptr when there is none now. Its pages are in flight until `finish_ahead`; one of each
  // kind at a time and GPU.
  AheadWork* evict_ahead(GpuIndex gpu);
  AheadWork* prefetch_ahead(GpuIndex gpu);
  void finish_ahead(GpuIndex gpu, AheadWork& work);

  // --- what kernels did with fetched bytes, for dead-byte accounting
  // A kernel on `gpu` has read (overwritten) all of [address, address+size): fetched pages become live (dead).
  void note_read(GpuIndex gpu, int va_space, VirtualAddress address, Bytes size);
  void note_overwritten(GpuIndex gpu, int va_space, VirtualAddress address, Bytes size);

  // --- state, for tests, audits and reports
  PageMask resident(int va_space, FrameIndex frame, ProcessorId where) const;
  PageMask cpu_mapped(int va_space, FrameIndex frame) const;
  Bytes resident_bytes(GpuIndex gpu) const;  // of managed pages
  std::int64_t free_root_chunks(GpuIndex gpu) const;
  std::int64_t total_root_chunks(GpuIndex gpu) const;
  Bytes host_bytes() const;  // host memory backing managed pages
  Bytes host_peak_bytes() const;
  Bytes dead_h2d_bytes(GpuIndex gpu) const;  // cumulative
  // Checks the invariants of design style 4.3 (2-4) over the whole state; aborts when one is broken.
  void audit() const;

 private:
  struct State;
  friend class Migration;
  std::unique_ptr<State> state_;
};

class Migration {
 public:
  // The frame that `next` will work on; nothing when the call is complete.
  std::optional<FrameIndex> frame();
  // The work of the next block and pass, or nullptr when the call is complete.
  BlockWork* next();
  // Time-independent facts of the call.
  int passes() const;
  ~Migration();

 private:
  friend class UvmDriver;
  struct Cursor;
  explicit Migration(std::unique_ptr<Cursor> cursor);
  std::unique_ptr<Cursor> cursor_;
};

}  // namespace uvmsim
