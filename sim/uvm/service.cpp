#include "uvm/service.h"

#include <boost/container/small_vector.hpp>
#include <span>

#include "uvm/make_resident.h"
#include "uvm/mapping.h"
#include "uvm/residency.h"
#include "uvm/system_memory.h"
#include "uvm/throttle.h"

namespace uvmsim {
namespace {

// What the faults of one block come to, before anything moves.
struct Selection {
  struct Target {
    ProcessorId to;
    PageMask pages;  // faulted
  };
  boost::container::small_vector<Target, 1> targets;
  PageMask duplicate;
  PageMask pinned;  // by thrashing
  int serviced = 0, stale = 0;
  bool throttled = false;
  Time throttled_until{};

  void add(ProcessorId to, std::uint32_t page) {
    for (Target& target : targets) {
      if (target.to != to) continue;
      target.pages.set(page);
      return;
    }
    targets.push_back({to, {}});
    targets.back().pages.set(page);
  }
};

// What `faulter` may do already, from the driver's own record of its page-table entries.
struct Granted {
  PageMask read, write;
};

Granted granted(const VaBlock& block, ProcessorId faulter) {
  if (faulter.is_cpu()) return {block.cpu.mapped, block.cpu_writable()};
  const GpuBlockState* state = block.find_gpu(faulter.gpu_index());
  return state ? Granted{state->pte_read, state->pte_write} : Granted{};
}

// Non-replayable faults get no thrashing hint (section 2.7).
bool watches(const ServiceRequest& request) { return request.cause != MakeResidentCause::NonReplayableFault; }

Selection select_pages(DriverState& driver, const ServiceRequest& request) {
  Selection out;
  const VaBlock& block = driver.block(request.block);
  const Granted has = granted(block, request.faulter);
  const bool plain = block.policy.is_default() && !block.rare;  // then rule 9 alone decides
  const bool counted = request.cause == MakeResidentCause::AccessCounter;
  PageNumber previous{};
  bool first = true;
  for (const FaultBatch::Representative& fault : request.faults) {
    if (!first && fault.page == previous) continue;  // a duplicate: only counted, at fetch
    first = false;
    previous = fault.page;
    const std::uint32_t page = page_in_frame(fault.page);
    if (!counted && (fault.access >= AccessType::Write ? has.write : has.read).test(page)) {
      ++out.stale;
      continue;
    }
    const ThrashingHint hint = plain || !watches(request) ? ThrashingHint{} : thrashing_hint(driver, request, page);
    if (hint.kind == ThrashingHint::Kind::Throttle) {
      out.throttled = true;
      out.throttled_until = hint.until;
      continue;
    }
    std::optional<ProcessorId> pin;
    if (hint.kind == ThrashingHint::Kind::Pin) pin = hint.residency;
    ResidencyChoice choice{request.faulter};
    if (!plain) choice = select_residency(block, page, request.faulter, fault.access, driver.topology, pin, counted);
    if (counted && block.resident(choice.to).test(page)) continue;  // it stays: service_va_block_locked
    ++out.serviced;
    if (pin) out.pinned.set(page);
    if (choice.duplicate) out.duplicate.set(page);
    out.add(choice.to, page);
  }
  for (Selection::Target& target : out.targets) target.pages = driver.host_pages.outwards(target.pages);
  out.duplicate = driver.host_pages.outwards(out.duplicate);
  out.pinned = driver.host_pages.outwards(out.pinned);
  return out;
}

// Pages serviced towards one destination in a row (section 3.1, uvm_perf_prefetch_min_faults).
void count_faults(VaBlock& block, ProcessorId to, int pages) {
  if (block.last_destination != to.value) {
    block.last_destination = to.value;
    block.faults_to_last_destination = 0;
  }
  block.faults_to_last_destination = static_cast<std::uint16_t>(block.faults_to_last_destination + pages);
}

PageMask prefetch_hint(const DriverState& driver, const VaBlock& block, const Selection::Target& target) {
  const DriverConfig& config = driver.machine.driver;
  if (!config.uvm_perf_prefetch_enable) return {};
  if (block.faults_to_last_destination < config.uvm_perf_prefetch_min_faults) return {};
  PrefetchView view;
  view.block = view.region = block.region;
  view.faulted = target.pages;
  view.resident = block.resident(target.to);
  view.thrashing = driver.host_pages.outwards(block.thrashing_pages());
  view.cpu_mapped = block.cpu.mapped;
  view.to_cpu = target.to.is_cpu();
  view.preferred_location_set = block.policy.preferred_location.has_value();
  view.to_preferred_location = block.policy.preferred_location == target.to;
  view.resident_anywhere = block.resident_anywhere().any();
  const PrefetchPolicy& policy = driver.prefetch_of(target.to.is_cpu() ? GpuIndex{} : target.to.gpu_index());
  return driver.host_pages.outwards(policy.prefetch(view));
}

void move_and_map(DriverState& driver, const ServiceRequest& request, const Selection::Target& target,
                  const PageMask& prefetched, const PageMask& duplicate, const DriverCosts& costs, BlockWork& work) {
  ResidencyChange change;
  change.block = request.block;
  change.to = target.to;
  change.pages = target.pages | prefetched;
  change.prefetched = request.cause == MakeResidentCause::AccessCounter ? change.pages : prefetched;
  change.duplicate = change.pages & duplicate;
  change.cause = request.cause;
  change.now = request.now;
  work.cpu += costs.serviced_page * driver.host_pages.count(change.pages);
  work.cpu += make_resident(driver, change, work).cost(costs, driver.host_pages);
  VaBlock& block = driver.block(request.block);
  const int space = request.block.va_space;
  const std::size_t earlier_writes = work.map.size();
  int entries = map_on(block, space, request.faulter, change.pages - change.duplicate, true, work.map);
  entries += map_on(block, space, request.faulter, change.duplicate, false, work.map);
  entries += map_accessed_by(driver, block, space, target.to, request.faulter, change.pages, work.map);
  work.cpu += costs.cpu_map_page * driver.host_pages.count(entries);
  if (!request.faulter.is_cpu() && target.to.is_cpu())
    for (const PageTableWrite& write : std::span(work.map).subspan(earlier_writes))
      work.cpu += costs.map_host_page * driver.host_pages.count(write.pages);
  if (target.to.is_cpu() && !work.copies.empty()) work.waits_for_copies = true;
}

}  // namespace

void service_block(DriverState& driver, const ServiceRequest& request, BlockWork& work) {
  VaBlock& block = driver.block(request.block);
  if (block.policy.system) return service_system(driver, request, work);
  const DriverCosts& costs = request.faulter.is_cpu() ? driver.costs(block) : driver.costs(request.faulter.gpu_index());
  end_pins(driver, request.block.va_space, request.now, work);
  Selection selection;
  PageMask prefetched;
  for (bool first = true, settled = false; !settled; first = false) {
    selection = select_pages(driver, request);
    if (selection.targets.empty()) break;
    prefetched.clear();
    if (selection.targets.size() == 1) {
      const Selection::Target& only = selection.targets.front();
      if (first) count_faults(block, only.to, driver.host_pages.count(only.pages));
      prefetched = prefetch_hint(driver, block, only);
      if (block.policy.read_duplication) selection.duplicate |= prefetched;
    }
    settled = true;
    for (const Selection::Target& target : selection.targets) {
      const Populated result = populate(driver, request.block, target.to, target.pages | prefetched, costs, work);
      if (result == Populated::OutOfMemory) return;
      if (result == Populated::AfterEviction) settled = false;
    }
  }
  work.throttled = work.throttled || selection.throttled;
  if (selection.throttled && request.faulter.is_cpu()) work.sleep = selection.throttled_until - request.now;
  work.faults_serviced += selection.serviced;
  work.faults_stale += selection.stale;
  if (selection.targets.empty()) return;
  work.serviced = true;
  work.destination = selection.targets.front().to;
  for (const Selection::Target& target : selection.targets)
    move_and_map(driver, request, target, prefetched, selection.duplicate, costs, work);
  if (selection.pinned.any()) map_pinned(driver, request.block, selection.pinned, costs, work);
}

}  // namespace uvmsim
