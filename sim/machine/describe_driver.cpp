#include "machine/description.h"

namespace uvmsim {

// Names, defaults and ranges: open-gpu-kernel-modules 595.45.04, module parameters of nvidia-uvm.
const Description& describe_driver() {
  using D = DriverConfig;
  static const Description d =
      Describe<D>("the UVM driver; keys are the names of its module parameters")
          .text("version", &D::version,
                "driver version such as 595.45.04; decides where versions differ (before 515: as 515)")
          .flag("uvm_perf_prefetch_enable", &D::uvm_perf_prefetch_enable, "whether the density prefetcher runs")
          .integer("uvm_perf_prefetch_threshold", &D::uvm_perf_prefetch_threshold,
                   "a subtree of a 2 MiB block is fetched whole once more than this share of it is resident or wanted",
                   {0, 100}, "%")
          .integer("uvm_perf_prefetch_min_faults", &D::uvm_perf_prefetch_min_faults,
                   "faulted pages of a block towards one destination before it prefetches", {1, 20}, "pages")
          .integer("uvm_perf_fault_batch_count", &D::uvm_perf_fault_batch_count,
                   "most raw entries fetched in one batch", {1, 1 << 24}, "entries")
          .integer(
              "uvm_perf_fault_replay_policy", &D::uvm_perf_fault_replay_policy,
              "when faults are replayed: 0 after each block, 1 after each batch, 2 after each batch and a flush of "
              "the buffer, 3 once",
              {0, 3})
          .integer("uvm_perf_fault_replay_update_put_ratio", &D::uvm_perf_fault_replay_update_put_ratio,
                   "share of duplicates in a batch above which the flush reads PUT again", {0, 100}, "%")
          .integer("uvm_perf_fault_max_batches_per_service", &D::uvm_perf_fault_max_batches_per_service,
                   "batches serviced in one run of the bottom half", {1, 1 << 24}, "batches")
          .integer("uvm_perf_fault_max_throttle_per_service", &D::uvm_perf_fault_max_throttle_per_service,
                   "throttled batches in one run of the bottom half", {1, 1 << 24}, "batches")
          .flag("uvm_perf_fault_coalesce", &D::uvm_perf_fault_coalesce,
                "whether neighbouring duplicates are merged when they are fetched")
          .flag("uvm_perf_thrashing_enable", &D::uvm_perf_thrashing_enable, "whether thrashing is detected")
          .integer("uvm_perf_thrashing_threshold", &D::uvm_perf_thrashing_threshold,
                   "events after which a page thrashes", {1, 7}, "events")
          .integer("uvm_perf_thrashing_pin_threshold", &D::uvm_perf_thrashing_pin_threshold,
                   "throttlings after which a thrashing page is pinned", {1, 255}, "throttlings")
          .integer("uvm_perf_thrashing_lapse_usec", &D::uvm_perf_thrashing_lapse_usec,
                   "longest gap between two events that count as thrashing", {1, 1 << 24}, "us")
          .integer("uvm_perf_thrashing_nap", &D::uvm_perf_thrashing_nap, "length of one throttling", {1, 100}, "lapses")
          .integer("uvm_perf_thrashing_epoch", &D::uvm_perf_thrashing_epoch,
                   "time without events after which a page's history is forgotten", {1, 1 << 24}, "lapses")
          .integer("uvm_perf_thrashing_pin", &D::uvm_perf_thrashing_pin, "how long a page stays pinned; 0: for ever",
                   {0, 1 << 24}, "lapses")
          .integer("uvm_perf_thrashing_max_resets", &D::uvm_perf_thrashing_max_resets,
                   "times the statistics of one block may be reset", {0, 1 << 24}, "resets")
          .integer("uvm_perf_lapse_vote_threshold", &D::uvm_perf_lapse_vote_threshold,
                   "votes after which the thrashing lapse adapts; 590 and later, and only while "
                   "uvm_perf_thrashing_lapse_usec is 500",
                   {1, 127}, "votes")
          .integer("uvm_cpu_chunk_allocation_sizes", &D::uvm_cpu_chunk_allocation_sizes,
                   "sizes of host chunks, or-ed: 2097152 (2 MiB), 65536 (64 KiB), 4096 (4 KiB, always there); 530 and "
                   "later",
                   {4096, 2166784}, "B")
          .flag("uvm_global_oversubscription", &D::uvm_global_oversubscription,
                "whether cudaMalloc may evict managed memory")
          .flag("tools_migration_events", &D::tools_migration_events,
                "whether a profiler that records migrations is attached (nvprof, Nsight Systems, CUPTI's unified "
                "memory): the driver puts a timestamp behind each contiguous run of a copy, for which its engine stops")
          .integer(
              "uvm_perf_access_counter_migration_enable", &D::uvm_perf_access_counter_migration_enable,
              "whether access counters migrate pages that a GPU accesses remotely: -1 on ATS systems only (NVLink "
              "or C2C to the host, Volta and later); 0 off; 1 on, which is hypothetical on hosts with pages of 4 KiB: "
              "550 and later drop the notifications there",
              {-1, 1})
          .integer("uvm_perf_access_counter_threshold", &D::uvm_perf_access_counter_threshold,
                   "remote accesses of 128 B to one counter's memory until it notifies the driver", {1, 65535},
                   "accesses")
          .integer("uvm_perf_access_counter_batch_count", &D::uvm_perf_access_counter_batch_count,
                   "most notifications fetched in one batch", {1, 1 << 24}, "notifications")
          .bytes("uvm_perf_access_counter_granularity", &D::uvm_perf_access_counter_granularity,
                 "memory that one access counter watches: 2 MiB, or 64 KiB as drivers to 535 can be told",
                 {kBigPageBytes, kBlockBytes})
          .flag("uvm_perf_map_remote_on_eviction", &D::uvm_perf_map_remote_on_eviction,
                "whether evicted pages stay mapped on the GPU, remotely; only while access counters migrate pages")
          .plug_in("prefetch_policy", &D::prefetch_policy, "prefetch",
                   "a name from `uvmsim list prefetch`; density is the driver's")
          .plug_in("eviction_policy", &D::eviction_policy, "eviction",
                   "a name from `uvmsim list eviction`; driver is the driver's")
          .bytes(
              "eviction_granularity", &D::eviction_granularity,
              "the unit in which memory is handed out and evicted: 2 MiB, or, in a driver that does not exist, 64 KiB",
              {kBigPageBytes, kBlockBytes})
          .build();
  return d;
}

}  // namespace uvmsim
