// cudaMemAdvise. Source: driver specification, section 8; uvm_policy.c, uvm_va_range.c.
#include "base/check.h"
#include "uvm/driver_state.h"
#include "uvm/mapping.h"
#include "uvm/split.h"

namespace uvmsim {
namespace {

enum class Advice { ReadMostly = 1, PreferredLocation = 2, AccessedBy = 3 };

void change_policy(VaPolicy& policy, Advice advice, bool set, ProcessorId processor) {
  switch (advice) {
    case Advice::ReadMostly:
      policy.read_duplication = set;
      return;
    case Advice::PreferredLocation:
      policy.preferred_location = set ? std::optional(processor) : std::nullopt;
      return;
    case Advice::AccessedBy:
      set ? policy.accessed_by.insert(processor) : policy.accessed_by.erase(processor);
      return;
  }
}

// Existing remote mappings of the preferred location go, so that it faults and pulls the pages.
void unmap_remote(VaBlock& block, int va_space, ProcessorId processor, const PageMask& pages, BlockWork& work,
                  MoveCounts& counts) {
  if (processor.is_cpu()) return unmap_from_cpu(block, pages - block.cpu.resident, counts);
  if (GpuBlockState* state = block.find_gpu(processor.gpu_index()))
    unmap_from_gpu(block, va_space, *state, pages - state->resident, work.unmap);
}

// Each duplicated page keeps one copy: at the preferred location, else at the holder with the lowest id.
void collapse(DriverState& driver, BlockHandle handle, const PageMask& pages, BlockWork& work, MoveCounts& counts) {
  VaBlock& block = driver.block(handle);
  const auto keep_at = [&](ProcessorId where) {
    ResidencyChange change;
    change.block = handle;
    change.to = where;
    change.pages = pages & block.read_duplicated() & block.resident(where);
    change.cause = MakeResidentCause::ApiMigrate;
    if (change.pages.none()) return;
    const MoveCounts moved = make_resident(driver, change, work);
    counts.cpu_unmap_runs += moved.cpu_unmap_runs;
    counts.cpu_unmap_pages += moved.cpu_unmap_pages;
  };
  if (block.policy.preferred_location) keep_at(*block.policy.preferred_location);
  for (int p = 0; p <= static_cast<int>(driver.machine.gpus.size()); ++p) keep_at({static_cast<std::int8_t>(p)});
}

struct Request {
  Advice advice;
  bool set;
  ProcessorId processor;
};

// Pages of `block` on the host that GPUs get in `entries`.
int host_pages_mapped(const VaBlock& block, const std::vector<PageTableWrite>& entries) {
  int pages = 0;
  for (const PageTableWrite& entry : entries)
    if (entry.remote) pages += (entry.pages & block.cpu.resident).count();
  return pages;
}

void apply(DriverState& driver, BlockHandle handle, const PageMask& pages, const Request& request, BlockWork& work) {
  VaBlock& block = driver.block(handle);
  const DriverCosts& costs = driver.costs(block);
  MoveCounts counts;
  work.destination = request.processor;
  int entries = 0;
  if (request.advice == Advice::ReadMostly) {
    if (request.set)
      revoke_for_duplication(block, handle.va_space, pages, work, counts);
    else
      collapse(driver, handle, pages, work, counts);
  } else if (request.advice == Advice::PreferredLocation) {
    if (request.set) unmap_remote(block, handle.va_space, request.processor, pages, work, counts);
  } else if (request.set && !block.policy.read_duplication) {
    for (int p = 0; p <= static_cast<int>(driver.machine.gpus.size()); ++p) {
      const ProcessorId where{static_cast<std::int8_t>(p)};
      if (!driver.topology.can_access(request.processor, where)) continue;
      if (where != request.processor && block.policy.preferred_location == request.processor) continue;
      entries += map_on(block, handle.va_space, request.processor, pages & block.resident(where), true, work.map);
    }
  }
  work.cpu += costs.advise_block + counts.cost(costs, driver.host_pages) +
              costs.cpu_map_page * driver.host_pages.count(entries) +
              costs.advise_page * driver.host_pages.count(host_pages_mapped(block, work.map));
}

}  // namespace

std::vector<BlockWork> UvmDriver::advise(int va_space, VirtualAddress address, Bytes size, int advice,
                                         ProcessorId processor) {
  UVMSIM_CHECK(advice != 0 && advice >= -3 && advice <= 3, "advice is 1, 2 or 3, or the negative of one");
  std::vector<BlockWork> out;
  if (size.value <= 0 || is_system(va_space, page_of(address))) return out;  // the driver has no policy for it
  const Request request{static_cast<Advice>(advice < 0 ? -advice : advice), advice > 0, processor};
  const PageNumber first = state_->host_pages.first(page_of(address));
  const PageNumber outer = state_->host_pages.next(page_of(address + static_cast<VirtualAddress>(size.value) - 1) + 1);
  VaSpace& space = state_->space(va_space);
  space.set_policy(
      first, outer, [&](VaPolicy& policy) { change_policy(policy, request.advice, request.set, processor); },
      [&](BlockHandle block, std::uint32_t page) { split_block(*state_, block, page); });
  space.for_each_block(first, outer, [&](VaBlock& block, BlockHandle handle) {
    const PageNumber base = first_page_of(block.frame);
    const PageRegion part{std::max(first, base + block.region.first) - base,
                          std::min(outer, base + block.region.outer) - base};
    apply(*state_, handle, PageMask::of(part), request, out.emplace_back());
  });
  return out;
}

}  // namespace uvmsim
