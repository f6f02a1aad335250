// cudaMemPrefetchAsync. Source: driver specification, section 6.4; uvm_migrate.c.
#include <algorithm>
#include <optional>
#include <utility>

#include "uvm/driver_state.h"
#include "uvm/make_resident.h"
#include "uvm/mapping.h"
#include "uvm/system_memory.h"

namespace uvmsim {

// Blocks strictly in ascending order. With several blocks, pass 1 makes them resident and pass 2 does so again,
// for what moved meanwhile, and maps: over more blocks than fit, every block of pass 2 misses again.
//
// On hosts with a fast link pass 1 takes the CPU's mappings away by groups of blocks, with one call to the kernel for a
// group that has some (migration_should_do_cpu_preunmap). Here each block gives up its own when its turn comes, and the
// first of a group pays for the call.
struct Migration::Cursor {
  DriverState* driver = nullptr;
  int va_space = 0;
  PageNumber first{}, outer{};
  ProcessorId to;
  int passes = 1;
  int pass = 1;
  PageNumber at{};
  BlockWork work;

  std::optional<std::uint32_t> unmapped_group = {};  // the last one that a call was paid for

  // Moves `at` to the next allocated page, of the next pass if need be; false: there is none.
  bool find();
  void service(BlockHandle handle, const PageMask& pages);
  bool unmaps_groups() const;
  // Of the last pass: the pages are mapped where they are now.
  void map(VaBlock& block, const ResidencyChange& change, const DriverCosts& costs);
};

namespace {

// 2 to the power of uvm_perf_migrate_cpu_preunmap_block_order, whose default is 2.
constexpr std::uint32_t kUnmappedTogether = 4;

}  // namespace

bool Migration::Cursor::unmaps_groups() const {
  if (pass != 1 || passes == 1) return false;
  const IndexedVector<GpuIndex, GpuSpec>& gpus = driver->machine.gpus;
  return std::ranges::any_of(gpus.indices(), [&](GpuIndex gpu) {
    return driver->topology.fast_link(ProcessorId::cpu(), ProcessorId::gpu(gpu));
  });
}

void Migration::Cursor::service(BlockHandle handle, const PageMask& pages) {
  VaBlock& block = driver->block(handle);
  const DriverCosts& costs = to.is_cpu() ? driver->costs(block) : driver->costs(to.gpu_index());
  work.destination = to;
  work.serviced = true;
  work.cpu += block.policy.system ? costs.migrate_block : Duration{0};
  if (block.policy.system) return migrate_system(*driver, handle, to, pages, work);
  if (populate(*driver, handle, to, pages, costs, work) == Populated::OutOfMemory) return;
  ResidencyChange change;
  change.block = handle;
  change.to = to;
  change.pages = pages;
  if (block.policy.read_duplication) change.duplicate = pages;
  change.cause = MakeResidentCause::ApiMigrate;
  MoveCounts counts = make_resident(*driver, change, work);
  if (counts.cpu_unmap_runs > 0 && unmaps_groups()) {
    const std::uint32_t group = block.frame.value / kUnmappedTogether;
    counts.cpu_unmap_runs = unmapped_group == group ? 0 : 1;
    unmapped_group = group;
  }
  const int unmapped = std::exchange(counts.cpu_unmap_pages, 0);
  // migrate_page is fitted where host memory comes in chunks of 2 MiB; with pages of their own a DGX-1 pays more.
  const Duration unmap_page = driver->traits.large_cpu_chunks ? costs.migrate_page : costs.cpu_unmap_page;
  work.cpu += counts.cost(costs, driver->host_pages) + unmap_page * driver->host_pages.count(unmapped);
  if (pass == passes) map(block, change, costs);
  work.cpu += costs.migrate_block;
}

void Migration::Cursor::map(VaBlock& block, const ResidencyChange& change, const DriverCosts& costs) {
  const PageMask& pages = change.pages;
  work.waits_for_copies = to.is_cpu();
  int entries = map_on(block, va_space, to, pages - change.duplicate, true, work.map);
  entries += map_on(block, va_space, to, change.duplicate, false, work.map);
  entries += map_accessed_by(*driver, block, va_space, to, to, pages, work.map);
  work.cpu += costs.cpu_map_page * driver->host_pages.count(entries);
}

bool Migration::Cursor::find() {
  const VaSpace& space = driver->space(va_space);
  at = space.next_allocated(at, outer);
  while (at == outer && pass < passes) {
    ++pass;
    at = space.next_allocated(first, outer);
  }
  return at != outer;
}

std::optional<FrameIndex> Migration::frame() {
  if (!cursor_->find()) return std::nullopt;
  return frame_of(cursor_->at);
}

BlockWork* Migration::next() {
  Cursor& c = *cursor_;
  if (!c.find()) return nullptr;
  VaSpace& space = c.driver->space(c.va_space);
  const BlockHandle handle = space.block_at(c.at);
  const VaBlock& block = space.block(handle.index);
  const PageNumber base = first_page_of(block.frame);
  const PageNumber outer = std::min(c.outer, base + block.region.outer);
  c.work.clear();
  c.service(handle, PageMask::of({c.at - base, outer - base}));
  c.driver->end_operation();
  c.at = outer;
  return &c.work;
}

int Migration::passes() const { return cursor_->passes; }

Migration::Migration(std::unique_ptr<Cursor> cursor) : cursor_(std::move(cursor)) {}
Migration::~Migration() = default;

std::unique_ptr<Migration> UvmDriver::migrate(int va_space, VirtualAddress address, Bytes size,
                                              ProcessorId destination) {
  auto cursor = std::make_unique<Migration::Cursor>();
  cursor->driver = state_.get();
  cursor->va_space = va_space;
  const HostPages& host_pages = state_->host_pages;
  cursor->first = cursor->outer = host_pages.first(page_of(address));
  if (size.value > 0)
    cursor->outer = host_pages.next(page_of(address + static_cast<VirtualAddress>(size.value) - 1) + 1);
  cursor->to = destination;
  VaSpace& space = state_->space(va_space);
  cursor->at = space.next_allocated(cursor->first, cursor->outer);
  if (cursor->at < cursor->outer) {
    const VaBlock& block = space.block(space.block_at(cursor->at).index);
    const PageNumber block_outer = first_page_of(block.frame) + block.region.outer;
    if (space.next_allocated(block_outer, cursor->outer) < cursor->outer) cursor->passes = 2;
  }
  return std::unique_ptr<Migration>(new Migration(std::move(cursor)));
}

}  // namespace uvmsim
