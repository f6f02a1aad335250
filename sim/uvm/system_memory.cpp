#include "uvm/system_memory.h"

#include "uvm/make_resident.h"
#include "uvm/mapping.h"

namespace uvmsim {
namespace {

// Root chunks in the 2 MiB that a block takes.
std::int64_t chunks_of_block(const Pmm& memory) { return kPagesPerBlock / memory.chunk_pages(); }

// Where pages that are to come to `to` go: to the host where the GPU has no memory left.
ProcessorId with_room(DriverState& driver, const VaBlock& block, ProcessorId to) {
  if (to.is_cpu() || block.resident(to).any()) return to;
  const Pmm& memory = driver.memory(to.gpu_index());
  return memory.free() >= chunks_of_block(memory) ? to : ProcessorId::cpu();
}

// Places pages and accounts for the GPUs' memory behind the block.
void place(DriverState& driver, const ResidencyChange& change, const DriverCosts& costs, BlockWork& work) {
  VaBlock& block = driver.block(change.block);
  if (change.pages.none()) return;
  if (change.to.is_cpu())
    populate(driver, change.block, change.to, change.pages, costs, work);
  else
    work.zeroed += Bytes{(change.pages - block.resident_anywhere()).count() * kPageBytes};
  const auto held = [&](GpuIndex gpu) { return block.resident(ProcessorId::gpu(gpu)).any() ? 1 : 0; };
  IndexedVector<GpuIndex, int> before;
  for (const GpuIndex gpu : driver.machine.gpus.indices()) before.push_back(held(gpu));
  work.cpu += make_resident(driver, change, work).cost(costs, driver.host_pages);
  for (const GpuIndex gpu : driver.machine.gpus.indices())
    driver.memory(gpu).take_device((held(gpu) - before[gpu]) * chunks_of_block(driver.memory(gpu)));
}

// One page table for all: what is resident somewhere is mapped everywhere.
void map_everywhere(DriverState& driver, BlockHandle handle, const PageMask& pages, const DriverCosts& costs,
                    BlockWork& work) {
  VaBlock& block = driver.block(handle);
  const PageMask there = pages & block.resident_anywhere();
  work.cpu += costs.cpu_map_page * driver.host_pages.count(map_on_cpu(block, there, true));
  for (const GpuIndex gpu : driver.machine.gpus.indices())
    map_on_gpu(block, handle.va_space, gpu, there, true, work.map);
}

// The pages that the faults or notifications name, and those that the prefetcher adds.
PageMask wanted_pages(const DriverState& driver, const VaBlock& block, const ServiceRequest& request,
                      const PageMask& named) {
  const DriverConfig& config = driver.machine.driver;
  if (request.faulter.is_cpu() || !config.uvm_perf_prefetch_enable || !driver.traits.ats_prefetch) return named;
  PrefetchView view;
  view.block = view.region = block.region;
  view.faulted = named;
  view.resident = block.resident(request.faulter);
  view.resident_anywhere = block.resident_anywhere().any();
  view.ats = true;
  return named | driver.host_pages.outwards(driver.prefetch_of(request.faulter.gpu_index()).prefetch(view));
}

}  // namespace

void service_system(DriverState& driver, const ServiceRequest& request, BlockWork& work) {
  VaBlock& block = driver.block(request.block);
  const bool counted = request.cause == MakeResidentCause::AccessCounter;
  const DriverCosts& costs = request.faulter.is_cpu() ? driver.costs(block) : driver.costs(request.faulter.gpu_index());
  if (counted && !driver.traits.ats_access_counters) return;
  PageMask named;
  for (const FaultBatch::Representative& fault : request.faults)
    named.set(driver.host_pages.around(page_in_frame(fault.page)));
  const PageMask there = block.resident_anywhere();
  const PageMask wanted = wanted_pages(driver, block, request, named);

  ResidencyChange change;
  change.block = request.block;
  change.to = with_room(driver, block, request.faulter);
  // Faults place what nobody touched before; counters move what is elsewhere, if that brings it nearer.
  change.pages = counted ? (wanted & there) - block.resident(request.faulter) : wanted - there;
  if (counted && change.to != request.faulter) return;
  change.prefetched = counted ? change.pages : change.pages - named;
  change.cause = request.cause;
  change.now = request.now;
  work.destination = change.to;
  work.faults_stale += driver.host_pages.count(named & there);
  work.faults_serviced += driver.host_pages.count(named - there);
  work.serviced = change.pages.any();
  place(driver, change, costs, work);
  map_everywhere(driver, request.block, change.pages | named, costs, work);
}

void migrate_system(DriverState& driver, BlockHandle handle, ProcessorId to, const PageMask& pages, BlockWork& work) {
  VaBlock& block = driver.block(handle);
  ResidencyChange change;
  change.block = handle;
  change.to = with_room(driver, block, to);
  if (change.to != to) return;
  change.pages = change.prefetched = pages;
  change.cause = MakeResidentCause::ApiMigrate;
  const DriverCosts& costs = to.is_cpu() ? driver.costs(block) : driver.costs(to.gpu_index());
  work.destination = to;
  work.waits_for_copies = to.is_cpu();
  place(driver, change, costs, work);
  map_everywhere(driver, handle, pages, costs, work);
}

void release_system(DriverState& driver, const VaBlock& block) {
  for (const GpuBlockState& gpu : block.gpus)
    if (Pmm& memory = driver.memory(gpu.gpu); gpu.resident.any()) memory.take_device(-chunks_of_block(memory));
}

}  // namespace uvmsim
