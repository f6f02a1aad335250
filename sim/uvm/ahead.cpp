// What policies know and do besides faults: programs they watch, chunks they evict and frames they bring early.
#include "uvm/driver_state.h"
#include "uvm/make_resident.h"
#include "uvm/mapping.h"

namespace uvmsim {
namespace {

class AbsentPages final : public AheadView {
 public:
  AbsentPages(DriverState& driver, GpuIndex gpu) : driver_(driver), gpu_(gpu) {}
  bool absent(FrameName name) const override {
    VaSpace& space = driver_.space(name.va_space);
    const PageNumber base = first_page_of(name.frame);
    const PageNumber first = space.next_allocated(base, base + kPagesPerBlock);
    if (first == base + kPagesPerBlock) return false;
    const VaBlock* block = space.find(first);
    if (block == nullptr) return true;
    const GpuBlockState* state = block->find_gpu(gpu_);
    const PageMask wanted = block->pages() - driver_.host_pages.outwards(block->thrashing_pages());
    return block->policy.is_default() && (state == nullptr ? wanted : wanted - state->resident).any();
  }

 private:
  DriverState& driver_;
  GpuIndex gpu_;
};

// Brings every page of the block, as a prefetch: faults asked for none of it.
void bring(DriverState& driver, GpuIndex gpu, BlockHandle handle, BlockWork& work) {
  const DriverCosts& costs = driver.costs(gpu);
  const ProcessorId to = ProcessorId::gpu(gpu);
  VaBlock& block = driver.block(handle);
  const PageMask pages = block.pages() - driver.host_pages.outwards(block.thrashing_pages());
  work.destination = to;
  work.cpu += costs.block;
  if (populate(driver, handle, to, pages, costs, work) == Populated::OutOfMemory) {
    work.out_of_memory = false;  // nobody asked for it
    return;
  }
  ResidencyChange change;
  change.block = handle;
  change.to = to;
  change.pages = change.prefetched = pages;
  change.cause = MakeResidentCause::Prefetch;
  work.cpu += make_resident(driver, change, work).cost(costs, driver.host_pages);
  const int entries = map_on(block, handle.va_space, to, pages, true, work.map);
  work.cpu += costs.cpu_map_page * driver.host_pages.count(entries);
}

}  // namespace

void UvmDriver::attach(int va_space, const Program& program, const IndexedVector<DeviceOrdinal, GpuIndex>& gpus) {
  if (!watches_operations()) return;
  for (const DeviceOrdinal device : gpus.indices())
    state_->watches[{va_space, gpus[device]}] = std::make_unique<ProgramWatch>(program, device, state_->needs);
}

bool UvmDriver::watches_operations() const {
  const EvictionNeeds& needs = state_->needs;
  return needs.accesses || needs.future || needs.tensors || prefetches_ahead();
}

void UvmDriver::begin_operation(GpuIndex gpu, int va_space, std::uint32_t op) {
  ProgramWatch* watch = state_->watch(va_space, gpu);
  if (watch == nullptr) return;
  watch->begin(op, [&](FrameIndex frame) { state_->note_accessed(gpu, va_space, frame); });
  if (PrefetchPolicy& prefetch = state_->prefetch_of(gpu); prefetch.looks_ahead())
    if (const std::uint64_t id = watch->execution_id(op); id != 0) prefetch.on_launch(id);
}

void UvmDriver::end_operation(GpuIndex gpu, int va_space) {
  ProgramWatch* watch = state_->watch(va_space, gpu);
  if (watch != nullptr) watch->end([&](FrameIndex frame) { state_->note_accessed(gpu, va_space, frame); });
}

bool UvmDriver::evicts_ahead() const { return state_->needs.ahead; }
bool UvmDriver::prefetches_ahead() const { return state_->prefetch.front()->looks_ahead(); }

AheadWork* UvmDriver::evict_ahead(GpuIndex gpu) {
  Pmm& memory = state_->memory(gpu);
  const ChunkView& view = *state_->views[gpu];
  if (!state_->needs.ahead || memory.evictable_count() == 0 || !memory.policy().wants_free(view)) return nullptr;
  AheadWork& ahead = state_->ahead_evictions[gpu];
  ahead.work.clear();
  ahead.chunks.clear();
  ahead.out = true;
  evict_one(*state_, gpu, EvictFor::Later, ahead.work.evictions, &ahead.chunks);
  ahead.va_space = view.va_space(ahead.chunks.front());
  ahead.frame = view.frame(ahead.chunks.front());
  if (state_->host.exceeded()) ahead.work.host_out_of_memory = true;
  return &ahead;
}

AheadWork* UvmDriver::prefetch_ahead(GpuIndex gpu) {
  PrefetchPolicy& policy = state_->prefetch_of(gpu);
  if (!policy.looks_ahead()) return nullptr;
  const AbsentPages view(*state_, gpu);
  std::optional<FrameName> name = policy.next(view);
  while (name && !view.absent(*name)) name = policy.next(view);
  if (!name) return nullptr;
  AheadWork& ahead = state_->ahead_prefetches[gpu];
  ahead.work.clear();
  ahead.chunks.clear();
  ahead.out = false;
  ahead.va_space = name->va_space;
  ahead.frame = name->frame;
  VaSpace& space = state_->space(name->va_space);
  const PageNumber base = first_page_of(name->frame);
  const BlockHandle handle = space.block_at(space.next_allocated(base, base + kPagesPerBlock));
  ahead.work.cpu += policy.lookup_time();
  bring(*state_, gpu, handle, ahead.work);
  state_->end_operation();
  if (const GpuBlockState* state = state_->block(handle).find_gpu(gpu))
    for_each_chunk(*state, state->resident, [&](RootChunkIndex chunk, PageRegion) {
      state_->memory(gpu).hold(chunk);
      ahead.chunks.push_back(chunk);
    });
  return &ahead;
}

void UvmDriver::finish_ahead(GpuIndex gpu, AheadWork& work) {
  Pmm& memory = state_->memory(gpu);
  for (const RootChunkIndex chunk : work.chunks) {
    if (work.out)
      memory.evicted_for_good(chunk);
    else
      memory.let_go(chunk);
  }
  work.chunks.clear();
}

}  // namespace uvmsim
