#include "memory/pools.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace uvmsim {
namespace {

std::shared_ptr<const AllocatorFactory> factory_named(const std::string& name) {
  const auto* entry = allocators().find(name);
  UVMSIM_CHECK(entry != nullptr, "the allocator is registered");
  return entry->make();
}

// Memory as the workload says it.
trace::Space space_named(std::string_view memory) {
  UVMSIM_CHECK(memory == "device" || memory == "managed" || memory == "system", "memory is managed, device or system");
  return memory == "device"   ? trace::Space::Device
         : memory == "system" ? trace::Space::PageableHost
                              : trace::Space::Managed;
}

}  // namespace

StageAllocators::StageAllocators(const PlacementOptions& options)
    : options_(options),
      space_(space_named(options.memory)),
      kind_(options.kind ? options.kind : factory_named(options.allocator)) {}

bool StageAllocators::enter(std::string_view phase) {
  const auto stage = std::ranges::find(options_.stages, phase, &AllocatorStage::phase);
  if (stage == options_.stages.end() || &*stage == stage_) return false;
  stage_ = &*stage;
  space_ = space_named(stage->memory);
  kind_ = factory_named(stage->allocator);
  return true;
}

Pools::Pools(AddressSpace& addresses, const PlacementOptions& options)
    : addresses_(addresses),
      options_(options),
      stage_(options),
      ipc_kind_(options.ipc_kind || options.ipc_allocator.empty() ? options.ipc_kind
                                                                  : factory_named(options.ipc_allocator)) {}

bool Pools::want_lifetimes() const {
  return stage_.kind().wants_lifetimes() || (ipc_kind_ && ipc_kind_->wants_lifetimes()) ||
         std::ranges::any_of(options_.stages, [](const AllocatorStage& stage) {
           return factory_named(stage.allocator)->wants_lifetimes();
         });
}

Pools::Pool& Pools::of(DeviceOrdinal device, trace::Space space, bool for_ipc) {
  const auto found = std::ranges::find_if(pools_, [&](const Pool& pool) {
    return !pool.finalized && pool.device == device && pool.space == space && pool.for_ipc == for_ipc;
  });
  if (found != pools_.end()) return *found;
  AddressSpace::Upstream& upstream = addresses_.upstream(device, space);
  return pools_.emplace_back(Pool{.device = device,
                                  .space = space,
                                  .for_ipc = for_ipc,
                                  .upstream = &upstream,
                                  .allocator = (for_ipc ? *ipc_kind_ : stage_.kind()).make(upstream)});
}

void Pools::free(Pool& pool, VirtualAddress address) {
  pool.allocator->free(address);
  if (pool.finalized) collect();
}

std::int64_t Pools::cache_flushes(DeviceOrdinal device) const {
  const auto past = past_flushes_.find(device);
  std::int64_t flushes = past == past_flushes_.end() ? 0 : past->second;
  for (const Pool& pool : pools_)
    if (pool.device == device) flushes += pool.allocator->cache_flushes();
  return flushes;
}

void Pools::enter(std::string_view phase) {
  if (!stage_.enter(phase)) return;
  for (Pool& pool : pools_) pool.finalized = pool.finalized || !pool.for_ipc;
  collect();
}

void Pools::collect() {
  std::erase_if(pools_, [this](Pool& pool) {
    if (!pool.finalized || pool.allocator->active().value > 0) return false;
    past_flushes_[pool.device] += pool.allocator->cache_flushes();
    pool.upstream->free_all();
    return true;
  });
}

}  // namespace uvmsim
