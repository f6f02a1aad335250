// The machine a run simulates: its GPUs, its host, the tree of links between them, and the driver.
//
// Plain values, read from configs/machines/*.json (every one there with its unit, source and status).
// Everything that shapes time is a field here; nothing here depends on a workload.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/indexed_vector.h"
#include "base/units.h"

namespace uvmsim {

// How a GPU raises replayable faults. Source: spec "how a GPU fills fault batches", section 2.
struct FaultHardware {
  int utlb_groups = 6;        // groups of SMs that share request slots: GPCs, or TPCs
  int slots_per_group = 56;   // requests (warp x page) a group may have waiting until a replay
  int sms_per_utlb = 1024;    // SMs of a group that share a uTLB, which asks for a page once; 0: nothing is merged
  Duration entry_interval{};  // between two fault entries, GPU-wide
  Duration group_interval{};  // between two fault entries of a group
  Duration entry_latency{};   // from the request to the entry being visible in the fault buffer
  Duration touch_latency{};   // from a touch resolved to the next dependent step of the warp
  Duration replay_skew{};     // a replay reaches the groups up to this much apart
  Duration cta_start{};       // from a CTA's end to the next one's start in the same slot
  Duration warp_stagger{};    // between the first steps of two warps of a CTA that touch other pages
  int fault_buffer_entries = 4096;  // capacity of the replayable fault buffer
  // Writes to pages mapped read-only after which an SM asks for nothing until a replay; 0: it goes on.
  int refused_writes_per_sm = 0;

  // Whether a uTLB writes one entry for what several warps ask of a page.
  bool merges() const { return sms_per_utlb != 0; }
  friend bool operator==(const FaultHardware&, const FaultHardware&) = default;
};

// A GPU's copy engines. A push costs `method_latency` and then runs at the link's speed; copies of managed memory,
// which go page by page, at most at `h2d_bandwidth` or `d2h_bandwidth`.
struct CopyEngineSpec {
  BytesPerSecond h2d_bandwidth{};
  BytesPerSecond d2h_bandwidth{};
  BytesPerSecond zero_bandwidth{};  // clearing GPU memory by the internal copy engine
  Duration method_latency{};        // start of a copy that no other one precedes in its push
  int engines = 1;                  // in each direction, for tensors under plans: memory nodes take turns at them
};

// CPU and GPU time of each driver step. Names follow the steps of the driver specification, section 2-6.
struct DriverCosts {
  Duration interrupt{};       // fault visible -> bottom half runs
  Duration wakeup{};          // added to `interrupt` when the bottom half had nothing to do for `wakeup_after`
  Duration wakeup_after{};    // so long a processor without work takes to fall asleep
  Duration first_fault{};     // added to the first batch of a process on this GPU: what is set up once
  Duration put_read{};        // reading the PUT register over PCIe
  Duration batch{};           // fixed part of fetching, sorting and finishing one batch
  Duration raw_entry{};       // parsing one fault entry
  Duration representative{};  // preprocessing one coalesced entry
  Duration block{};           // servicing one VA block of a batch
  Duration stale_block{};     // a block of a batch in which every fault was already resolved
  Duration serviced_page{};   // per page that a block's faults ask for or prefetch, resident or not
  Duration new_chunk{};       // a block obtains its root chunk (allocation, mapping, page tables)
  Duration cpu_unmap_run{};   // unmapping one contiguous CPU-mapped run from the CPU
  Duration cpu_unmap_page{};  // per CPU-mapped page unmapped
  Duration populate_page{};   // per page that becomes resident without a copy
  Duration copy_run{};        // per run pushed to a copy engine
  Duration copy_method{};     // per method of a push: a run where both sides are one chunk, else a page
  Duration map_host_page{};   // per page of the host that a GPU's fault maps and leaves there
  Duration pte_update{};      // chain end -> PTEs valid (PTE write, TLB invalidate, membar)
  Duration replay{};          // replay pushed -> SMs resume
  Duration replay_wait{};     // SMs resume -> bottom half continues
  Duration evict_chunk{};     // CPU part of evicting one root chunk
  Duration evict_page{};      // per page evicted
  Duration cpu_fault{};       // one CPU fault without its copy
  Duration cpu_map_page{};    // inserting one CPU PTE
  Duration cpu_chunk_page{};  // allocating one page of host memory
  Duration cpu_zero_page{};   // zeroing one, where no processor has its contents
  Duration migrate_call{};    // cudaMemPrefetchAsync, fixed part
  Duration migrate_block{};   // per block and pass of cudaMemPrefetchAsync
  Duration migrate_page{};    // per CPU-mapped page that cudaMemPrefetchAsync unmaps, since driver 530
  Duration advise_call{};     // cudaMemAdvise, fixed part
  Duration advise_block{};    // per block walked by cudaMemAdvise
  Duration advise_page{};     // per page of the host that cudaMemAdvise maps on a GPU
};

// Cost of runtime calls that reach the driver without faulting.
struct RuntimeCosts {
  Duration kernel_launch{};        // host time of one launch or other asynchronous call
  Duration malloc_call{};          // cudaMalloc, fixed part
  Duration malloc_large{};         // added above 2 MiB
  Duration malloc_peer{};          // added per peer GPU with access
  Duration free_call{};            // cudaFree, fixed part, after the device is idle
  Duration free_gib{};             // added per GiB freed (scrubbing)
  Duration malloc_managed_call{};  // cudaMallocManaged
  Duration busy_prefetch_call{};   // cudaMemPrefetchAsync on a busy stream, fixed part: no less than migrate_call
  // A copy between GPUs without peer access goes through two buffers of this size in host memory; each change of hands
  // between the two GPUs' copy engines takes `staging_handover`.
  Bytes staging_chunk{2 << 20};
  Duration staging_handover{};
};

// Of cudaFree, once nothing uses the memory.
inline Duration free_time(const RuntimeCosts& costs, Bytes freed) {
  return costs.free_call + from_seconds(seconds(costs.free_gib) * static_cast<double>(freed.value) / (1 << 30));
}

struct GpuSpec {
  std::string name;
  std::string architecture;  // pascal, volta, turing, ampere, ada, hopper, blackwell
  std::string host_link;     // pcie, nvlink or c2c: of what it reaches host memory by, the kind of the link at its end
  Bytes memory{};            // as sold
  Bytes usable_memory{};     // less what driver, context and pinned use take; used everywhere
  int sms = 0;
  int max_threads_per_sm = 0;
  int max_ctas_per_sm = 0;
  BytesPerSecond memory_bandwidth{};
  double fp32_flops = 0;         // per second, peak
  double fp16_tensor_flops = 0;  // per second, peak
  // SM reads and writes of host memory over the link ("zero-copy"): the rate of requests of 128 B, the round trip of a
  // read on an idle link, and the least time between two reads: the round trip over how many may be outstanding.
  BytesPerSecond remote_bandwidth{};
  Duration remote_latency{};
  Duration remote_request_interval{};
  FaultHardware fault;
  CopyEngineSpec copy;
  DriverCosts driver_costs;  // of this GPU in this host
};

struct HostSpec {
  std::string name;
  int cores = 0;                     // of each server; 0: as many as anybody asks for
  Bytes memory{};                    // capacity; exceeding it is an outcome of a run
  Bytes page_size{kPageBytes};       // PAGE_SIZE of the kernel: 4 KiB or 64 KiB
  BytesPerSecond touch_bandwidth{};  // one host thread reading or writing resident pages
  std::string
      membind;  // the memory node that managed pages are in, as by numactl --membind; "": the nearest to the GPU
  RuntimeCosts runtime;
};

// One full-duplex hop. Nodes are "gpu0".., "switch0".., "socket0".. (a root complex), "memory0".. (host
// memory of that socket), and "nvm0".., "ssd0".., "cxl0".. (other memory: MemoryNode). Each direction becomes one link
// of the engine.
struct LinkSpec {
  std::string name;
  std::string kind;  // pcie, nvlink, c2c (NVLink-C2C: to a socket only), socket, memory
  std::string from;  // the end nearer to host memory
  std::string to;
  BytesPerSecond down{};         // from -> to
  BytesPerSecond up{};           // to -> from
  BytesPerSecond down_duplex{};  // from -> to while the other direction is busy; 0: as `down`
  BytesPerSecond up_duplex{};    // to -> from while the other direction is busy; 0: as `up`
  BytesPerSecond both{};         // both directions together, at most; 0: no such limit. DRAM channels are half duplex
  // Share of the capacity that n flows in one direction reach together: element n-1; the last one
  // holds for every larger n. Empty: always 1.
  std::vector<double> sharing_efficiency;
};

// Memory that tensors can go to, besides a GPU's own. Reads go towards a GPU, writes away from it.
struct MemoryNode {
  std::string name;
  std::string kind;               // dram, nvm, ssd, cxl, or gpu: the memory of a GPU, for the other ones
  std::string node;               // where it hangs on the links: "memory0", "nvm0", "ssd0", "cxl0", "gpu0"
  Bytes capacity{};               // all who put tensors there share it
  BytesPerSecond read{};          // of all GPUs together; 0: only the links to it limit it
  BytesPerSecond write{};         // likewise
  Duration latency{};             // of each transfer, before its bytes flow
  int queue_depth = 0;            // transfers whose bytes flow at a time; 0: any number
  bool own_dma = false;           // tensors go by its own DMA engine (NVMe, GPUDirect Storage), not by the GPU's
  BytesPerSecond kernel_read{};   // by the SMs of one GPU, in place; 0: kernels cannot
  BytesPerSecond kernel_write{};  // likewise
};

class PlugIn;

// The driver's module parameters, under their own names. Source: driver specification, section 9.
struct DriverConfig {
  std::string version = "595.45.04";
  bool uvm_perf_prefetch_enable = true;
  int uvm_perf_prefetch_threshold = 51;
  int uvm_perf_prefetch_min_faults = 1;
  int uvm_perf_fault_batch_count = 256;
  int uvm_perf_fault_replay_policy = 2;  // 0 block, 1 batch, 2 batch_flush, 3 once
  int uvm_perf_fault_replay_update_put_ratio = 50;
  int uvm_perf_fault_max_batches_per_service = 20;
  int uvm_perf_fault_max_throttle_per_service = 5;
  bool uvm_perf_fault_coalesce = true;
  bool uvm_perf_thrashing_enable = true;
  int uvm_perf_thrashing_threshold = 3;
  int uvm_perf_thrashing_pin_threshold = 10;
  int uvm_perf_thrashing_lapse_usec = 500;
  int uvm_perf_thrashing_nap = 1;
  int uvm_perf_thrashing_epoch = 2000;
  int uvm_perf_thrashing_pin = 300;
  int uvm_perf_thrashing_max_resets = 4;
  int uvm_perf_lapse_vote_threshold = 32;
  std::int64_t uvm_cpu_chunk_allocation_sizes = 0x211000;  // sizes of host chunks, or-ed: 2 MiB, 64 KiB, 4 KiB
  bool uvm_global_oversubscription = true;
  bool tools_migration_events = false;  // a profiler reads UvmEventTypeMigration: a timestamp behind each run of a copy
  // Access counters (section 7): -1 on ATS systems only, 0 off, 1 on.
  int uvm_perf_access_counter_migration_enable = -1;
  int uvm_perf_access_counter_threshold = 256;
  int uvm_perf_access_counter_batch_count = 256;
  Bytes uvm_perf_access_counter_granularity{kBlockBytes};  // 2 MiB or 64 KiB
  bool uvm_perf_map_remote_on_eviction = true;             // acts while access counters migrate pages
  std::string prefetch_policy = "density";                 // `uvmsim list prefetch`
  std::string eviction_policy = "driver";                  // `uvmsim list eviction`
  Bytes eviction_granularity{kBlockBytes};                 // of root chunks: 2 MiB in the driver, or 64 KiB
  // Those policies with their parameters; nullptr: with their defaults.
  std::shared_ptr<const PlugIn> prefetch_options, eviction_options;
};

// What a driver version decides differently. Source: driver specification, "Version notes".
struct DriverTraits {
  int major = 595;
  bool assumed = false;                       // older than 515, the oldest read: behaves as 515
  bool head_clamp_quirk = true;               // 525 and later: prefetch_hint of a ragged head
  bool prefetch_away_from_preferred = false;  // before 590: the tree runs away from a preferred location
  bool large_cpu_chunks = true;               // 530 and later: 2 MiB and 64 KiB CPU chunks
  bool has_discard = true;                    // 580 and later
  bool discarded_list = true;                 // 590 and later: discarded chunks on a list of their own
  bool adaptive_lapse = true;                 // 590 and later
  bool ats_prefetch = true;                   // 545 and later: the prefetcher acts on faults under ATS
  bool ats_access_counters = true;  // 550 and later: access counters move pages under ATS, not managed ones only
  // From some release between 535 and 550 on, the driver throws access-counter notifications away where pages are 4
  // KiB.
  bool drops_notifications = true;
  // 550 and later: of the pages that a notification names, only those in one piece with the first move.
  bool expands_notifications = true;
};
DriverTraits driver_traits(const std::string& version);

// Whether the GPU translates addresses with the page tables of the host's processors (ATS) and both are coherent: Volta
// and later on a processor with NVLink (POWER9) or NVLink-C2C (Grace). POWER8 with Pascal GPUs has the link alone.
bool has_ats(const GpuSpec& gpu);

struct Machine {
  std::string name;
  IndexedVector<GpuIndex, GpuSpec> gpus;
  HostSpec host;
  std::vector<LinkSpec> links;
  std::vector<MemoryNode> memories;  // those listed, then host memory that is not: machine/memory_nodes.h
  // Which GPUs copy to each other directly when a program enables peer access; the others' copies are staged in host
  // memory. none; nvlink; socket: also over PCIe below one socket; any. Source: CUDA programming guide, "Peer-to-peer
  // memory access"; nvidia-smi topo -p2p
  std::string peer_access = "socket";
  DriverConfig driver;
};

}  // namespace uvmsim
