#include "uvm/driver.h"

#include "base/check.h"
#include "uvm/driver_state.h"
#include "uvm/make_resident.h"
#include "uvm/mapping.h"
#include "uvm/system_memory.h"

namespace uvmsim {
namespace {

// cudaMalloc takes whole 2 MiB.
std::int64_t chunks_of(const Pmm& memory, Bytes size) {
  return (size.value + kBlockBytes - 1) / kBlockBytes * (kBlockBytes / memory.chunk_bytes());
}

}  // namespace

void BlockWork::clear() {
  evictions.clear();
  unmap.clear();
  copies.clear();
  map.clear();
  cpu = sleep = Duration{};
  destination = ProcessorId::cpu();
  zeroed = populated = prefetched = Bytes{};
  serviced = throttled = waits_for_copies = out_of_memory = host_out_of_memory = false;
  faults_serviced = faults_stale = 0;
}

UvmDriver::UvmDriver(const Machine& machine) : state_(std::make_unique<State>(machine)) {}
UvmDriver::~UvmDriver() = default;

int UvmDriver::create_va_space() {
  const int number = static_cast<int>(state_->spaces.size());
  state_->spaces.emplace_back(number);
  state_->thrashing_spaces.emplace_back(state_->thrashing);
  return number;
}

namespace {

PageRange new_range(const HostPages& host_pages, VirtualAddress address, Bytes size) {
  UVMSIM_CHECK(address >= kManagedBase && address % kBlockBytes == 0, "managed memory starts on a 2 MiB boundary");
  UVMSIM_CHECK(size.value > 0, "a managed allocation has bytes");
  const PageNumber first = page_of(address);
  const PageNumber last = page_of(address + static_cast<VirtualAddress>(size.value) - 1);
  return {first, host_pages.next(last + 1)};
}

}  // namespace

void UvmDriver::allocate_managed(int va_space, VirtualAddress address, Bytes size) {
  const PageRange pages = new_range(state_->host_pages, address, size);
  state_->space(va_space).allocate(pages.first, pages.outer);
}

void UvmDriver::allocate_system(int va_space, VirtualAddress address, Bytes size) {
  UVMSIM_CHECK(has_ats(state_->machine.gpus.front()), "GPUs without ATS do not reach memory from malloc");
  const PageRange pages = new_range(state_->host_pages, address, size);
  VaPolicy policy;
  policy.system = true;
  state_->space(va_space).allocate(pages.first, pages.outer, policy);
}

std::vector<PageTableWrite> UvmDriver::free_managed(int va_space, VirtualAddress address) {
  std::vector<PageTableWrite> writes;
  VaSpace& space = state_->space(va_space);
  const PageRange pages = space.allocation(page_of(address));
  space.for_each_block(pages.first, pages.outer, [&](VaBlock& block, BlockHandle handle) {
    for (GpuBlockState& gpu : block.gpus) {
      unmap_from_gpu(block, va_space, gpu, block.pages(), writes);
      state_->totals(gpu.gpu).resident_pages -= gpu.resident.count();
      state_->totals(gpu.gpu).unread_pages -= gpu.unread.count();
      if (gpu.root != kNoRootChunk) state_->memory(gpu.gpu).free_root(gpu.root);
      for (const SubChunk& chunk : gpu.sub_chunks) state_->memory(gpu.gpu).free_sub_chunk(chunk);
    }
    if (block.policy.system) release_system(*state_, block);
    state_->host.release(block);
    space.release(handle);
  });
  space.forget(pages.first);
  return writes;
}

std::optional<std::vector<EvictionWork>> UvmDriver::allocate_device(GpuIndex gpu, Bytes size) {
  Pmm& memory = state_->memory(gpu);
  const std::int64_t chunks = chunks_of(memory, size);
  const std::int64_t evictable = state_->machine.driver.uvm_global_oversubscription ? memory.evictable_count() : 0;
  if (memory.free() + evictable < chunks) return std::nullopt;
  std::vector<EvictionWork> evictions;
  while (memory.free() < chunks)
    UVMSIM_CHECK(evict_one(*state_, gpu, EvictFor::Good, evictions), "an evictable chunk could not be evicted");
  memory.take_device(chunks);
  return evictions;
}

void UvmDriver::free_device(GpuIndex gpu, Bytes size) {
  Pmm& memory = state_->memory(gpu);
  memory.take_device(-chunks_of(memory, size));
}

PageMask UvmDriver::resident(int va_space, FrameIndex frame, ProcessorId where) const {
  PageMask out;
  const PageNumber base = first_page_of(frame);
  const VaSpace& space = state_->space(va_space);
  space.for_each_block(base, base + kPagesPerBlock,
                       [&](const VaBlock& block, BlockHandle) { out |= block.resident(where); });
  return out;
}

PageMask UvmDriver::cpu_mapped(int va_space, FrameIndex frame) const {
  PageMask out;
  const PageNumber base = first_page_of(frame);
  const VaSpace& space = state_->space(va_space);
  space.for_each_block(base, base + kPagesPerBlock,
                       [&](const VaBlock& block, BlockHandle) { out |= block.cpu.mapped; });
  return out;
}

Bytes UvmDriver::resident_bytes(GpuIndex gpu) const { return {state_->totals(gpu).resident_pages * kPageBytes}; }
std::int64_t UvmDriver::free_root_chunks(GpuIndex gpu) const { return state_->memory(gpu).free(); }
std::int64_t UvmDriver::total_root_chunks(GpuIndex gpu) const { return state_->memory(gpu).total(); }
Bytes UvmDriver::host_bytes() const { return state_->host.used(); }
Bytes UvmDriver::host_peak_bytes() const { return state_->host.peak(); }
Bytes UvmDriver::dead_h2d_bytes(GpuIndex gpu) const { return {state_->totals(gpu).dead_pages * kPageBytes}; }

}  // namespace uvmsim
