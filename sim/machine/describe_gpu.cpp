#include "machine/description.h"

namespace uvmsim {

const Description& describe_fault_hardware() {
  using F = FaultHardware;
  static const Description d =
      Describe<F>("how the GPU raises replayable faults")
          .integer("utlb_groups", &F::utlb_groups, "groups of SMs that share request slots: the GPCs, or the TPCs",
                   {1, 256})
          .integer("slots_per_group", &F::slots_per_group,
                   "requests (one warp, one page) a group may have waiting until a replay", {1, 65536})
          .integer("sms_per_utlb", &F::sms_per_utlb,
                   "SMs of a group that share a uTLB, which writes one entry for a page that they ask for before a "
                   "replay; 1024: all of them, 0: each request writes one",
                   {0, 1024})
          .integer("refused_writes_per_sm", &F::refused_writes_per_sm,
                   "writes to pages mapped read-only after which an SM asks for nothing until a replay; 0: it goes on",
                   {0, 1024})
          .duration("entry_interval", &F::entry_interval, "time between two fault entries, over the whole GPU")
          .duration("group_interval", &F::group_interval, "time between two fault entries of one group")
          .duration("entry_latency", &F::entry_latency, "time from a request to its entry in the fault buffer")
          .duration("touch_latency", &F::touch_latency,
                    "time from a touch resolved to the next dependent step of the warp")
          .duration("replay_skew", &F::replay_skew,
                    "a replay reaches the groups of SMs up to this much apart (calibrated on SpecAsync-UVM, stencil "
                    "24000)")
          .duration("cta_start", &F::cta_start, "time from a CTA's end to the next CTA's start in the same slot")
          .duration("warp_stagger", &F::warp_stagger,
                    "time between the first steps of two warps of a CTA that touch different pages")
          .integer("fault_buffer_entries", &F::fault_buffer_entries, "capacity of the replayable fault buffer",
                   {1, 1 << 24}, "entries")
          .build();
  return d;
}

const Description& describe_copy_engine() {
  using C = CopyEngineSpec;
  static const Description d =
      Describe<C>("the GPU's copy engines")
          .bandwidth("h2d_bandwidth", &C::h2d_bandwidth,
                     "the highest rate of a copy from host memory, whatever the link", {1, {}})
          .bandwidth("d2h_bandwidth", &C::d2h_bandwidth, "the highest rate of a copy to host memory, whatever the link",
                     {1, {}})
          .bandwidth("zero_bandwidth", &C::zero_bandwidth, "speed at which GPU memory is cleared", {1, {}})
          .duration("method_latency", &C::method_latency,
                    "start of a copy: once per push, whose methods are pipelined, and for each of its contiguous runs "
                    "while a profiler has the driver put timestamps between them (driver.tools_migration_events)")
          .integer("engines", &C::engines,
                   "copy engines that move tensors under plans, in each direction (cudaDeviceProp::asyncEngineCount "
                   "counts both directions); memory nodes take turns at them",
                   {1, 16})
          .build();
  return d;
}

const Description& describe_driver_costs() {
  using C = DriverCosts;
  static const Description d =
      Describe<C>("CPU and GPU time of each driver step, for this GPU in this host")
          .duration("interrupt", &C::interrupt, "from a fault visible in the buffer to the bottom half running")
          .duration("wakeup", &C::wakeup,
                    "added to interrupt where the processor slept: the bottom half had nothing to do for wakeup_after")
          .duration("wakeup_after", &C::wakeup_after, "how long a processor without work takes to fall asleep")
          .duration("first_fault", &C::first_fault,
                    "added to the first fault batch of a process on this GPU: page directories, memory pools")
          .duration("put_read", &C::put_read, "reading the fault buffer's PUT register over PCIe")
          .duration("batch", &C::batch, "fixed part of fetching, sorting and finishing one fault batch")
          .duration("raw_entry", &C::raw_entry, "parsing one fault entry")
          .duration("representative", &C::representative, "preprocessing one coalesced fault entry")
          .duration("block", &C::block, "servicing one VA block of a batch")
          .duration("stale_block", &C::stale_block, "a block of a batch all of whose faults were already resolved")
          .duration("serviced_page", &C::serviced_page,
                    "per page that a serviced block's faults ask for or prefetch, also those that are resident "
                    "(uvm_va_block_service_finish: compute_new_permission)")
          .duration("new_chunk", &C::new_chunk,
                    "a block obtains its 2 MiB root chunk: allocation, mapping, page tables")
          .duration("cpu_unmap_run", &C::cpu_unmap_run, "unmapping one contiguous CPU-mapped run from the CPU")
          .duration("cpu_unmap_page", &C::cpu_unmap_page, "per CPU-mapped page unmapped from the CPU")
          .duration("populate_page", &C::populate_page, "per page that becomes resident without a copy")
          .duration("copy_run", &C::copy_run, "per contiguous run pushed to a copy engine")
          .duration(
              "copy_method", &C::copy_method,
              "per method of a copy's push: a run where both sides are one chunk of 2 MiB, else a page of the host")
          .duration("map_host_page", &C::map_host_page, "per page of the host that a GPU's fault maps and leaves there")
          .duration("pte_update", &C::pte_update,
                    "from the end of a block's chain to valid page-table entries: PTE write, TLB invalidate, membar")
          .duration("replay", &C::replay, "from the replay pushed to the SMs resuming")
          .duration("replay_wait", &C::replay_wait, "from the SMs resuming to the bottom half continuing")
          .duration("evict_chunk", &C::evict_chunk, "CPU part of evicting one root chunk, without its copy")
          .duration("evict_page", &C::evict_page, "per page evicted")
          .duration("cpu_fault", &C::cpu_fault, "one CPU fault without its copy: trap, driver entry, block service")
          .duration("cpu_map_page", &C::cpu_map_page, "inserting one CPU page-table entry")
          .duration("cpu_chunk_page", &C::cpu_chunk_page, "allocating one page of host memory")
          .duration("cpu_zero_page", &C::cpu_zero_page,
                    "zeroing one page of new host memory, of a chunk whose pages are not all resident somewhere")
          .duration("migrate_call", &C::migrate_call, "cudaMemPrefetchAsync, fixed part")
          .duration("migrate_block", &C::migrate_block, "cudaMemPrefetchAsync, per VA block and pass, moved or not")
          .duration("migrate_page", &C::migrate_page,
                    "cudaMemPrefetchAsync since driver 530, per CPU-mapped page unmapped (else cpu_unmap_page)")
          .duration("advise_call", &C::advise_call, "cudaMemAdvise, fixed part")
          .duration("advise_block", &C::advise_block, "cudaMemAdvise, per VA block")
          .duration("advise_page", &C::advise_page,
                    "cudaMemAdvise, per page of the host that it maps on a GPU: for DMA, and its entry")
          .build();
  return d;
}

const Description& describe_gpu() {
  using G = GpuSpec;
  static const auto two_mib = static_cast<double>(kBlockBytes);
  static const Description d =
      Describe<G>("one GPU")
          .text("name", &G::name, "the card's name")
          .text("architecture", &G::architecture, "the GPU's architecture",
                {"pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"})
          .bytes("memory", &G::memory, "device memory as sold", {two_mib, {}})
          .bytes("usable_memory", &G::usable_memory,
                 "device memory that the driver, the CUDA context and its libraries leave for allocations",
                 {two_mib, {}})
          .integer("sms", &G::sms, "streaming multiprocessors", {1, 4096})
          .integer("max_threads_per_sm", &G::max_threads_per_sm, "resident threads of one SM", {32, 65536})
          .integer("max_ctas_per_sm", &G::max_ctas_per_sm, "resident CTAs of one SM", {1, 1024})
          .bandwidth("memory_bandwidth", &G::memory_bandwidth, "device memory bandwidth, peak", {1, {}})
          .number("fp32_flops", &G::fp32_flops, "fp32 operations per second, peak", {1, {}}, "1/s")
          .number("fp16_tensor_flops", &G::fp16_tensor_flops,
                  "fp16 tensor-core operations per second, peak and dense; 0: no tensor cores", {0, {}}, "1/s")
          .bandwidth("remote_bandwidth", &G::remote_bandwidth,
                     "rate at which kernels read or write host memory over the link, in requests of 128 B", {1, {}})
          .duration("remote_latency", &G::remote_latency,
                    "round trip of a kernel's read of host memory over an idle link")
          .duration(
              "remote_request_interval", &G::remote_request_interval,
              "time between two reads of host memory by kernels, of whatever size: the round trip of a busy link over "
              "the requests that may be outstanding")
          .section("fault", &G::fault, describe_fault_hardware(), "how the GPU raises replayable faults")
          .section("copy", &G::copy, describe_copy_engine(), "the GPU's copy engines")
          .section("driver_costs", &G::driver_costs, describe_driver_costs(), "time of each driver step")
          .build();
  return d;
}

}  // namespace uvmsim
