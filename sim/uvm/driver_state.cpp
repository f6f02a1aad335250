#include "uvm/driver_state.h"

#include "base/check.h"

namespace uvmsim {
namespace {

std::unique_ptr<EvictionPolicy> make_eviction_policy(const DriverConfig& config) {
  if (config.eviction_options) return dynamic_cast<const EvictionPolicy::Factory&>(*config.eviction_options).make();
  const auto* entry = eviction_policies().find(config.eviction_policy);
  UVMSIM_CHECK(entry != nullptr, "the eviction policy is not registered");
  return entry->make()->make();
}

std::unique_ptr<PrefetchPolicy> make_prefetch_policy(const DriverConfig& config, const DriverTraits& traits) {
  if (config.prefetch_options)
    return dynamic_cast<const PrefetchPolicy::Factory&>(*config.prefetch_options).make(config, traits);
  const auto* entry = prefetch_policies().find(config.prefetch_policy);
  UVMSIM_CHECK(entry != nullptr, "the prefetch policy is not registered");
  return entry->make()->make(config, traits);
}

// A chunk of one page of the host there always is; before 530 there was no other.
std::int64_t host_chunk_sizes(const Machine& machine, const DriverTraits& traits) {
  return (traits.large_cpu_chunks ? machine.driver.uvm_cpu_chunk_allocation_sizes : 0) | machine.host.page_size.value;
}

}  // namespace

DriverState::DriverState(const Machine& of)
    : machine(of),
      traits(driver_traits(of.driver.version)),
      host_pages(of.host.page_size),
      topology(of),
      thrashing(of.driver, traits),
      host(of.host.memory, host_chunk_sizes(of, traits)),
      gpu_totals(of.gpus.size()),
      batches(of.gpus.size()),
      fault_work(of.gpus.size()),
      non_replayable_work(of.gpus.size()),
      counter_work(of.gpus.size()),
      ahead_evictions(of.gpus.size()),
      ahead_prefetches(of.gpus.size()) {
  UVMSIM_CHECK(!of.gpus.empty(), "a machine without a GPU has no driver");
  const auto chunk_pages = static_cast<std::uint32_t>(of.driver.eviction_granularity.value / kPageBytes);
  for (const GpuIndex gpu : of.gpus.indices()) {
    prefetch.push_back(make_prefetch_policy(of.driver, traits));
    counters.emplace_back(of, of.gpus[gpu]);
    pmm.push_back(std::make_unique<Pmm>(of.gpus[gpu].usable_memory.value / (chunk_pages * kPageBytes), chunk_pages,
                                        make_eviction_policy(of.driver)));
    views.push_back(std::make_unique<ChunkView>(*this, gpu, *pmm.back()));
    pmm.back()->show(*views.back());
  }
  needs = pmm.front()->policy().needs();
}

void DriverState::note_accessed(GpuIndex gpu, int va_space, FrameIndex frame) {
  const PageNumber base = first_page_of(frame);
  space(va_space).for_each_block(base, base + kPagesPerBlock, [&](VaBlock& block, BlockHandle) {
    if (const GpuBlockState* state = block.find_gpu(gpu))
      for_each_chunk(*state, PageMask::all(),
                     [&](RootChunkIndex chunk, PageRegion) { memory(gpu).note_accessed(chunk); });
  });
}

VaSpace& DriverState::space(int number) {
  UVMSIM_CHECK(number >= 0 && static_cast<std::size_t>(number) < spaces.size(), "no such VaSpace");
  return spaces[static_cast<std::size_t>(number)];
}

const VaSpace& DriverState::space(int number) const {
  UVMSIM_CHECK(number >= 0 && static_cast<std::size_t>(number) < spaces.size(), "no such VaSpace");
  return spaces[static_cast<std::size_t>(number)];
}

}  // namespace uvmsim
