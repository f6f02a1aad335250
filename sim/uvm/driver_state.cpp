#include "uvm/driver_state.h"

#include "base/check.h"

namespace uvmsim {
namespace {

std::unique_ptr<EvictionPolicy> make_eviction_policy(const std::string& name) {
  const auto* entry = eviction_policies().find(name);
  UVMSIM_CHECK(entry != nullptr, "the eviction policy is not registered");
  return entry->make();
}

std::unique_ptr<PrefetchPolicy> make_prefetch_policy(const DriverConfig& config, const DriverTraits& traits) {
  const auto* entry = prefetch_policies().find(config.prefetch_policy);
  UVMSIM_CHECK(entry != nullptr, "the prefetch policy is not registered");
  return entry->make(config, traits);
}

}  // namespace

DriverState::DriverState(const Machine& of)
    : machine(of),
      traits(driver_traits(of.driver.version)),
      topology(of),
      prefetch(make_prefetch_policy(of.driver, traits)),
      thrashing(of.driver, traits),
      host(of.host.memory, traits.large_cpu_chunks),
      gpu_totals(of.gpus.size()),
      batches(of.gpus.size()),
      fault_work(of.gpus.size()),
      non_replayable_work(of.gpus.size()) {
  UVMSIM_CHECK(!of.gpus.empty(), "a machine without a GPU has no driver");
  for (const GpuSpec& gpu : of.gpus)
    pmm.push_back(
        std::make_unique<Pmm>(gpu.usable_memory.value / kBlockBytes, make_eviction_policy(of.driver.eviction_policy)));
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
