#include "uvm/throttle.h"

#include "uvm/mapping.h"

namespace uvmsim {
namespace {

bool is_fight(const ResidencyChange& change) {
  return change.cause == MakeResidentCause::ReplayableFault || change.cause == MakeResidentCause::CpuFault ||
         change.cause == MakeResidentCause::AccessCounter;
}

// A driver timer fires up to this much early (TIMER_GRANULARITY_NS).
const Duration kTimerGranularity = microseconds(20);

}  // namespace

void note_migration(DriverState& driver, const ResidencyChange& change, const PageMask& copied) {
  if (!driver.thrashing.enable || copied.none() || change.cause == MakeResidentCause::Eviction) return;
  VaBlock& block = driver.block(change.block);
  if (block.policy.system) return;
  const PageMask moved = is_fight(change) && !block.policy.read_duplication ? copied - change.duplicate : PageMask{};
  if (block.rare && block.rare->thrashing) block.rare->thrashing->reset(copied - moved);
  if (moved.none()) return;
  const Duration lapse = driver.thrashing_spaces[static_cast<std::size_t>(change.block.va_space)].lapse;
  const bool tracked = block.rare && block.rare->thrashing;
  const bool first = block.last_migration_to < 0 || block.last_migration_to == change.to.value;
  if (!tracked && !first && change.now - block.last_migration <= lapse)
    block.make_rare().thrashing = std::make_unique<ThrashingBlock>();
  if (block.rare && block.rare->thrashing)
    block.rare->thrashing->note_migration(driver.host_pages.firsts(moved), change.to, change.now, driver.thrashing,
                                          lapse);
  block.last_migration_to = change.to.value;
  block.last_migration = change.now;
}

ThrashingHint thrashing_hint(DriverState& driver, const ServiceRequest& request, std::uint32_t page) {
  VaBlock& block = driver.block(request.block);
  if (!block.rare || !block.rare->thrashing) return {};
  ThrashingBlock& tracking = *block.rare->thrashing;
  if (tracking.idle(request.now, driver.thrashing) && block.thrashing_resets < driver.thrashing.max_resets) {
    ++block.thrashing_resets;
    block.rare->thrashing.reset();
    block.last_migration_to = -1;
    return {};
  }
  ThrashingBlock::Fault fault;
  fault.block = request.block;
  fault.page = page;
  fault.requester = request.faulter;
  const ProcessorSet holders = block.holders(page);
  fault.closest = holders.empty() ? request.faulter : driver.topology.closest(request.faulter, holders);
  fault.preferred_location = block.policy.preferred_location;
  fault.now = request.now;
  return tracking.hint(fault, driver.thrashing, driver.topology,
                       driver.thrashing_spaces[static_cast<std::size_t>(request.block.va_space)]);
}

void map_pinned(DriverState& driver, BlockHandle handle, const PageMask& pages, const DriverCosts& costs,
                BlockWork& work) {
  VaBlock& block = driver.block(handle);
  if (!block.rare || !block.rare->thrashing) return;
  for_each_page(driver.host_pages.firsts(pages - block.read_duplicated()), [&](std::uint32_t page) {
    const ProcessorId where = block.holders(page).first();
    block.rare->thrashing->processors(page).for_each([&](ProcessorId who) {
      if (!driver.topology.can_access(who, where)) return;
      const PageMask one = PageMask::of(driver.host_pages.around(page));
      const int entries = map_on(block, handle.va_space, who, one, true, work.map);
      work.cpu += costs.cpu_map_page * driver.host_pages.count(entries);
    });
  });
}

void end_pins(DriverState& driver, int va_space, Time now, BlockWork& work) {
  std::deque<ThrashingSpace::Pin>& pins = driver.thrashing_spaces[static_cast<std::size_t>(va_space)].pins;
  while (!pins.empty() && pins.front().deadline <= now + kTimerGranularity) {
    const ThrashingSpace::Pin pin = pins.front();
    pins.pop_front();
    VaBlock& block = driver.block(pin.block);
    if (!block.rare || !block.rare->thrashing) continue;
    if (!block.rare->thrashing->pinned_until(pin.page, pin.deadline)) continue;
    const PageMask page = PageMask::of(driver.host_pages.around(pin.page));
    for (GpuBlockState& state : block.gpus)
      if (!block.policy.accessed_by.contains(ProcessorId::gpu(state.gpu)))
        unmap_from_gpu(block, va_space, state, page - state.resident, work.unmap);
    if (!block.policy.accessed_by.contains(ProcessorId::cpu())) {
      MoveCounts counts;
      unmap_from_cpu(block, page - block.cpu.resident, counts);
      work.cpu += counts.cost(driver.costs(block), driver.host_pages);
    }
    block.rare->thrashing->reset(page);
  }
}

}  // namespace uvmsim
