// What a run found. Plain counts and times; rates and ratios are computed by whoever reports them.
//
// Definitions (also in README.md):
//   fault batch   one fetch of the bottom half: up to uvm_perf_fault_batch_count entries
//   fault group   a batch that serviced at least one fault, per process (what nvprof counts)
//   fault entry   a coalesced representative of a batch
//   copy          a maximal run of pages moved for one cause (what a profiler shows as one migration)
//   dead bytes    fetched to the GPU, then overwritten as a whole before anything read them
//   time split    each instant of the compute stream's wall time has exactly one cause; the first that
//                 holds wins: see TimeSplit
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/program.h"

namespace uvmsim {

// Seconds of one GPU's wall time by cause, in order of priority. Sums to the GPU's duration_s.
struct TimeSplit {
  double fault_cpu_s = 0;   // a kernel runs and the bottom half works on a fault batch on the CPU
  double eviction_s = 0;    // the batch waits and a device-to-host copy of it runs
  double copy_in_s = 0;     // the batch waits and a host-to-device (or peer) copy of it runs
  double link_wait_s = 0;   // of the two above: what the copies took longer than with the links for themselves
  double compute_s = 0;     // a kernel runs and no fault batch is being serviced
  double transfer_s = 0;    // no kernel runs; an explicit copy or prefetch of the stream does
  double collective_s = 0;  // no kernel runs; the stream is in a collective or waits for its peers
  double idle_s = 0;        // the stream is empty: the host has not issued more work
  double total() const {
    return fault_cpu_s + eviction_s + copy_in_s + link_wait_s + compute_s + transfer_s + collective_s + idle_s;
  }
};

// Counts of one GPU over an interval.
struct GpuCounts {
  std::int64_t kernels = 0;
  std::int64_t fault_batches = 0;
  std::int64_t fault_groups = 0;
  std::int64_t fault_entries = 0;  // coalesced
  std::int64_t raw_fault_entries = 0;
  std::int64_t stale_faults = 0;  // fetched for a page that was already mapped
  std::int64_t flushed_faults = 0;
  std::int64_t duplicate_faults = 0;
  std::int64_t serviced_faults = 0;  // entries less stale and duplicate ones
  std::int64_t interrupts = 0;
  std::int64_t replays = 0;
  std::int64_t update_puts = 0;  // flushes that read PUT again
  std::int64_t blocks_serviced = 0;
  std::int64_t cpu_faults = 0;
  std::int64_t h2d_bytes = 0, d2h_bytes = 0, peer_bytes = 0;  // by UVM
  std::int64_t h2d_copies = 0, d2h_copies = 0;
  std::int64_t copy_methods = 0;
  std::int64_t memcpy_h2d_bytes = 0, memcpy_d2h_bytes = 0;  // explicit copies
  std::int64_t prefetched_bytes = 0;                        // of h2d and populated bytes: those no fault asked for
  std::int64_t populated_bytes = 0;                         // made resident without a copy
  std::int64_t zeroed_bytes = 0;
  std::int64_t evicted_chunks = 0, evicted_bytes = 0;
  std::int64_t dead_h2d_bytes = 0;
  std::int64_t remote_bytes = 0;  // accessed over the link without migrating
  // Copies of tensors under plans, both directions added: their time, that of it in which a kernel ran, and that which
  // they would not have taken with the links for themselves.
  std::int64_t swap_ns = 0, swap_overlapped_ns = 0, swap_contention_ns = 0;
};

struct GpuResult {
  std::string name;
  double duration_s = 0;  // mean over the measured iterations
  GpuCounts counts;       // mean per measured iteration, rounded to the nearest
  TimeSplit time_split_s;
  std::vector<double> iteration_s;  // every iteration, warm-up included
  std::vector<std::int64_t> iteration_h2d_bytes;
};

struct LinkDirectionResult {
  std::string name;        // "pcie.switch0-socket0 up"
  std::int64_t bytes = 0;  // over the measured iterations
  double busy_fraction = 0;
  double bandwidth = 0;  // bytes per second, capacity
  // Seconds over the measured iterations that copies took longer than alone, added up; a copy's are those of the link
  // that gave it the least bandwidth, because others shared it or used its other direction.
  double contention_s = 0;
};

enum class Outcome {
  Completed,
  OutOfMemory,
  HostOutOfMemory,
  Deadlock,
  ContentsLost,  // a plan gave up contents that a kernel needed
  IpcRefused,    // CUDA IPC cannot share the memory that a tensor for other processes is in
  NotManaged,    // a plan asks for what no call of managed memory does
};

// What one action of a plan cost in one iteration.
struct ActionOutcome {
  std::int32_t gpu = 0;        // of the machine
  std::int32_t iteration = 0;  // counted from 0
  std::int32_t action = 0;     // of the plan of that iteration
  double stall_s = 0;          // streams and the host waited for its copies
  double lateness_s = 0;       // of the copy in, after its first user came to it; negative: it was early
  bool used = false;           // there was a copy in, and a user
};

// The most that tensors under plans held of a memory: of a GPU, or of a memory node.
struct MemoryPeak {
  std::string name;  // "gpu0", "memory0"
  std::int64_t bytes = 0;
};

// What tensors under plans held of a GPU in the mean over its kernels' durations.
struct MemoryMean {
  std::string name;  // "gpu0"
  double bytes = 0;
};

// The largest value of a parameter of the workload's generator with which it fits.
struct LargestValue {
  std::string parameter;       // "batch"
  std::int64_t planned = 0;    // under the planner's plan
  std::int64_t unplanned = 0;  // without a plan; 0: not even the smallest value, as of `planned`
};

// How much memory an iteration needs, where that was asked (study/plan_need.h).
struct PlanNeed {
  std::int64_t unplanned_bytes = 0;  // without a plan
  std::int64_t need_bytes = 0;       // the smallest memory that the planner's plan keeps to; 0: none was found
  std::vector<LargestValue> largest;
};

// Actions of a plan that do the same.
struct PlannedActions {
  std::string what;  // "move", "move by zvc", "recompute", ...: what_of in plan/plan_choices.h
  std::int64_t count = 0;
  std::int64_t bytes = 0;  // of the tensors that they take off the GPU
};

// The plan of a GPU, in short.
struct PlanSummary {
  std::string gpu;                   // "gpu0"
  std::int32_t first_iteration = 0;  // that it is for
  std::string planner;
  bool feasible = true;  // keeps to `budget_bytes` by the planner's own model; what does not leaves on demand
  std::string why;       // what the planner has to say about it
  std::int64_t budget_bytes = 0;
  std::vector<PlannedActions> actions;
};

// What plans did.
struct PlanOutcome {
  std::string family;  // swap, recompute, compress or hybrid: family_of in plan/plan_choices.h; "": there was no plan
  std::vector<PlanSummary> plans;
  std::vector<ActionOutcome> actions;
  std::vector<MemoryPeak> memories;
  std::vector<MemoryMean> means;
  PlanNeed need;
};

// Samples per second that all jobs train with, where that was asked (study/data_stalls.h): the three runs of a
// differential measurement, and where the items of the last one were read.
struct LoadingRates {
  double synthetic_samples_per_s = 0;  // batches are there when they are asked for: what the GPUs take
  double cached_samples_per_s = 0;     // every item is in memory
  double loaded_samples_per_s = 0;     // as configured
  double cached_share = 0, remote_share = 0;
};

struct Result {
  Outcome outcome = Outcome::Completed;
  std::string detail;     // why it did not complete: who waits for what
  double duration_s = 0;  // one iteration: the slowest GPU, mean over the measured ones
  double samples = 0;     // per iteration, all GPUs
  std::string sample_unit;
  int warmup_iterations = 0;
  int measured_iterations = 0;
  int period = 0;                                        // of the steady state, in iterations; 0: none found
  std::int64_t peak_live_bytes = 0, reserved_bytes = 0;  // of one process
  std::vector<DeviceAllocator> allocators;               // of one process, per device
  std::int64_t host_peak_bytes = 0;
  std::vector<GpuResult> gpus;
  std::vector<LinkDirectionResult> links;
  PlanOutcome plan;
  LoadingRates loading;
  std::int64_t events = 0;         // driver steps, copies and stream operations
  std::uint64_t history_hash = 0;  // of the order of those
};

}  // namespace uvmsim
