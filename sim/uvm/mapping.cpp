#include "uvm/mapping.h"

namespace uvmsim {
namespace {

using Permission = PageTableWrite::Permission;

void write_entries(std::vector<PageTableWrite>& writes, const VaBlock& block, int va_space, GpuIndex gpu,
                   const PageMask& pages, Permission permission, bool remote) {
  if (pages.any()) writes.push_back({ProcessorId::gpu(gpu), block.frame, pages, permission, remote, va_space});
}

}  // namespace

void map_on_gpu(VaBlock& block, int va_space, GpuIndex gpu, const PageMask& pages, bool write,
                std::vector<PageTableWrite>& writes) {
  GpuBlockState& state = block.gpu(gpu);
  const PageMask fresh = pages - (write ? state.pte_write : state.pte_read);
  if (fresh.none()) return;
  state.pte_read |= fresh;
  if (write) state.pte_write |= fresh;
  const Permission permission = write ? Permission::ReadWrite : Permission::Read;
  write_entries(writes, block, va_space, gpu, fresh & state.resident, permission, false);
  write_entries(writes, block, va_space, gpu, fresh - state.resident, permission, true);
}

int map_on_cpu(VaBlock& block, const PageMask& pages, bool write) {
  const PageMask fresh = pages - (write ? block.cpu_writable() : block.cpu.mapped);
  block.cpu.mapped |= fresh;
  if (!write)
    block.make_rare().cpu_read_only |= fresh;
  else if (block.rare)
    block.rare->cpu_read_only -= fresh;
  return fresh.count();
}

int map_on(VaBlock& block, int va_space, ProcessorId who, const PageMask& pages, bool write,
           std::vector<PageTableWrite>& writes) {
  if (pages.none()) return 0;
  if (who.is_cpu()) return map_on_cpu(block, pages, write);
  map_on_gpu(block, va_space, who.gpu_index(), pages, write, writes);
  return 0;
}

int map_accessed_by(DriverState& driver, VaBlock& block, int va_space, ProcessorId where, ProcessorId already,
                    const PageMask& pages, std::vector<PageTableWrite>& writes) {
  if (block.policy.accessed_by.empty() || block.policy.read_duplication) return 0;
  int inserted = 0;
  block.policy.accessed_by.for_each([&](ProcessorId who) {
    if (who == already || !driver.topology.can_access(who, where)) return;
    if (who != where && block.policy.preferred_location == who) return;
    inserted += map_on(block, va_space, who, pages & block.resident(where), true, writes);
  });
  return inserted;
}

void unmap_from_gpu(VaBlock& block, int va_space, GpuBlockState& state, const PageMask& pages,
                    std::vector<PageTableWrite>& writes) {
  const PageMask mapped = state.pte_read & pages;
  write_entries(writes, block, va_space, state.gpu, mapped, Permission::None, false);
  state.pte_read -= mapped;
  state.pte_write -= mapped;
}

void unmap_from_cpu(VaBlock& block, const PageMask& pages, MoveCounts& counts) {
  const PageMask mapped = block.cpu.mapped & pages;
  counts.cpu_unmap_runs += mapped.run_count();
  counts.cpu_unmap_pages += mapped.count();
  block.cpu.mapped -= mapped;
  if (block.rare) block.rare->cpu_read_only -= mapped;
}

void unmap_leaving(VaBlock& block, int va_space, ProcessorId to, const PageMask& leaving, const PageMask& moving,
                   BlockWork& work, MoveCounts& counts) {
  if (leaving.none() && moving.none()) return;
  unmap_from_cpu(block, to.is_cpu() ? moving : leaving, counts);
  for (GpuBlockState& state : block.gpus)
    unmap_from_gpu(block, va_space, state, ProcessorId::gpu(state.gpu) == to ? moving : leaving, work.unmap);
}

void revoke_for_duplication(VaBlock& block, int va_space, const PageMask& pages, BlockWork& work, MoveCounts& counts) {
  unmap_from_cpu(block, pages - block.cpu.resident, counts);
  if (const PageMask writable = block.cpu_writable() & pages; writable.any()) {
    counts.cpu_unmap_runs += writable.run_count();
    counts.cpu_unmap_pages += writable.count();
    counts.cpu_map_pages += writable.count();  // Linux cannot take a right away: block_revoke_cpu_write maps them again
    block.make_rare().cpu_read_only |= writable;
  }
  for (GpuBlockState& state : block.gpus) {
    unmap_from_gpu(block, va_space, state, pages - state.resident, work.unmap);
    const PageMask writable = state.pte_write & pages;
    write_entries(work.unmap, block, va_space, state.gpu, writable, Permission::Read, false);
    state.pte_write -= writable;
  }
}

}  // namespace uvmsim
