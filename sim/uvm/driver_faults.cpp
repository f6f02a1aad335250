// The driver's three kinds of faults. Source: driver specification, sections 2.4, 2.7 and 2.8.
#include "uvm/driver_state.h"
#include "uvm/fault_batch.h"
#include "uvm/service.h"

namespace uvmsim {

FaultBatch& UvmDriver::fetch(GpuIndex gpu, int va_space, std::span<const FaultEntry> entries) {
  FaultBatch& batch = state_->batches[gpu];
  batch.gpu = gpu;
  batch.va_space = va_space;
  state_->memory(gpu).begin_batch();
  coalesce(entries, state_->machine.driver.uvm_perf_fault_coalesce, state_->host_pages, batch);
  preprocess(state_->space(va_space), batch);
  return batch;
}

BlockWork& UvmDriver::service(FaultBatch& batch, std::size_t index, Time now) {
  BlockWork& work = state_->fault_work[batch.gpu];
  work.clear();
  const FaultBatch::BlockFaults part = batch.blocks[index];
  const std::span faults = std::span(batch.faults).subspan(part.first, part.outer - part.first);
  ServiceRequest request;
  request.block = state_->space(batch.va_space).block_at(faults.front().page);
  request.faulter = ProcessorId::gpu(batch.gpu);
  request.faults = faults;
  request.now = now;
  const FrameIndex frame = frame_of(faults.front().page);
  if (ProgramWatch* watch = state_->watch(batch.va_space, batch.gpu))
    watch->reach(frame, [&](FrameIndex f) { state_->note_accessed(batch.gpu, batch.va_space, f); });
  service_block(*state_, request, work);
  if (PrefetchPolicy& prefetch = state_->prefetch_of(batch.gpu); prefetch.looks_ahead() && work.serviced)
    prefetch.on_faulted({batch.va_space, frame});
  const DriverCosts& costs = state_->costs(batch.gpu);
  work.cpu += work.serviced || work.throttled ? costs.block : costs.stale_block;
  state_->end_operation();
  return work;
}

bool UvmDriver::flush_updates_put(const FaultBatch& batch) const {
  return std::int64_t{batch.duplicates} * 100 >
         std::int64_t{batch.raw_entries} * state_->machine.driver.uvm_perf_fault_replay_update_put_ratio;
}

BlockWork& UvmDriver::service_non_replayable(GpuIndex gpu, int va_space, FrameIndex frame, PageRegion pages,
                                             AccessType access, Time now) {
  BlockWork& work = state_->non_replayable_work[gpu];
  work.clear();
  VaSpace& space = state_->space(va_space);
  const DriverCosts& costs = state_->costs(gpu);
  const HostPages& host_pages = state_->host_pages;
  for (std::uint32_t page = host_pages.around(pages.first).first; page < pages.outer; page += host_pages.pages()) {
    const FaultBatch::Representative fault{first_page_of(frame) + page, access, 1};
    ServiceRequest request;
    request.block = space.block_at(fault.page);
    request.faulter = ProcessorId::gpu(gpu);
    request.cause = MakeResidentCause::NonReplayableFault;
    request.faults = std::span(&fault, 1);
    request.now = now;
    const int before = work.faults_serviced;
    service_block(*state_, request, work);
    state_->end_operation();
    if (work.out_of_memory) break;
    if (work.faults_serviced > before) work.cpu += costs.block;
  }
  work.faults_stale = 0;  // pages that were accessible raised no fault
  return work;
}

bool UvmDriver::cpu_can_access(int va_space, PageNumber page, AccessType access) const {
  return next_cpu_fault(va_space, page, page + 1, access) != page;
}

PageNumber UvmDriver::next_cpu_fault(int va_space, PageNumber first, PageNumber outer, AccessType access) const {
  const VaSpace& space = state_->space(va_space);
  for (PageNumber page = first; page < outer;) {
    const VaBlock* block = space.find(page);
    if (block == nullptr) return page;
    const PageNumber base = first_page_of(block->frame);
    const PageMask allowed = access >= AccessType::Write ? block->cpu_writable() : block->cpu.mapped;
    const std::uint32_t clear = allowed.next_clear(page - base);
    if (clear < block->region.outer) return std::min(outer, base + clear);
    page = base + block->region.outer;
  }
  return outer;
}

BlockWork& UvmDriver::cpu_fault(int va_space, PageNumber page, AccessType access, Time now) {
  BlockWork& work = state_->cpu_work;
  work.clear();
  const FaultBatch::Representative fault{state_->host_pages.first(page), access, 1};
  ServiceRequest request;
  request.block = state_->space(va_space).block_at(fault.page);
  request.faulter = ProcessorId::cpu();
  request.cause = MakeResidentCause::CpuFault;
  request.faults = std::span(&fault, 1);
  request.now = now;
  const DriverCosts& costs = state_->costs(state_->block(request.block));
  service_block(*state_, request, work);
  work.cpu += costs.cpu_fault;
  state_->end_operation();
  return work;
}

bool UvmDriver::is_system(int va_space, PageNumber page) const {
  const VaBlock* block = state_->space(va_space).find(page);
  return block != nullptr ? block->policy.system : state_->space(va_space).policy_at(page).system;
}

BlockWork& UvmDriver::cpu_first_touch(int va_space, PageNumber first, PageNumber outer, Time now) {
  BlockWork& work = state_->cpu_work;
  work.clear();
  ServiceRequest request;
  request.block = state_->space(va_space).block_at(first);
  request.faulter = ProcessorId::cpu();
  request.cause = MakeResidentCause::CpuFault;
  request.now = now;
  const VaBlock& block = state_->block(request.block);
  const PageNumber base = first_page_of(block.frame);
  std::vector<FaultBatch::Representative> pages;
  for (PageNumber page = state_->host_pages.first(first); page < std::min(outer, base + block.region.outer);
       page = page + state_->host_pages.pages())
    pages.push_back({page, AccessType::Write, 1});
  request.faults = pages;
  service_block(*state_, request, work);
  return work;
}

}  // namespace uvmsim
