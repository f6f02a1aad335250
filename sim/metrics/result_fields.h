// What every member of a Result means, in what unit, and how it is called in JSON.
#pragma once

#include "metrics/fields.h"
#include "metrics/result.h"

namespace uvmsim {

template <>
inline constexpr auto kFields<TimeSplit> = std::tuple{
    Field{"fault_cpu_s", &TimeSplit::fault_cpu_s, "s", "a kernel runs and the CPU works on a fault batch of this GPU"},
    Field{"eviction_s", &TimeSplit::eviction_s, "s", "the batch waits, and a copy to the host runs for it"},
    Field{"copy_in_s", &TimeSplit::copy_in_s, "s", "the batch waits, and a copy from the host or a peer runs for it"},
    Field{"link_wait_s", &TimeSplit::link_wait_s, "s",
          "of the two above: what the copies took longer than with the links for themselves"},
    Field{"compute_s", &TimeSplit::compute_s, "s", "a kernel runs and no fault batch is being serviced"},
    Field{"transfer_s", &TimeSplit::transfer_s, "s",
          "no kernel runs; an explicit copy or a prefetch of the stream does"},
    Field{"collective_s", &TimeSplit::collective_s, "s",
          "no kernel runs; the stream is in a collective or waits for its peers"},
    Field{"idle_s", &TimeSplit::idle_s, "s", "the stream is empty: the host has not issued more work"}};
UVMSIM_NAMES_EVERY_MEMBER(TimeSplit);

template <>
inline constexpr auto kFields<GpuCounts> = std::tuple{
    Field{"kernels", &GpuCounts::kernels, "kernels", "kernels that ran"},
    Field{"fault_batches", &GpuCounts::fault_batches, "batches", "fetches of the driver's bottom half"},
    Field{"fault_groups", &GpuCounts::fault_groups, "groups",
          "batches that serviced at least one fault, per process: what nvprof counts"},
    Field{"fault_entries", &GpuCounts::fault_entries, "entries", "coalesced entries of the batches"},
    Field{"raw_fault_entries", &GpuCounts::raw_fault_entries, "entries", "entries read from the fault buffer"},
    Field{"stale_faults", &GpuCounts::stale_faults, "entries", "fetched for a page that was already mapped"},
    Field{"flushed_faults", &GpuCounts::flushed_faults, "entries", "thrown away by a flush; the warp faults again"},
    Field{"duplicate_faults", &GpuCounts::duplicate_faults, "entries", "on a page that the batch already held"},
    Field{"serviced_faults", &GpuCounts::serviced_faults, "faults",
          "entries less stale and duplicate ones: each made a page accessible"},
    Field{"interrupts", &GpuCounts::interrupts, "interrupts", "times the bottom half was woken"},
    Field{"replays", &GpuCounts::replays, "replays", "fault replays pushed to the GPU"},
    Field{"update_puts", &GpuCounts::update_puts, "flushes", "flushes that read the PUT register again"},
    Field{"blocks_serviced", &GpuCounts::blocks_serviced, "blocks", "2 MiB VA blocks serviced, once per batch"},
    Field{"cpu_faults", &GpuCounts::cpu_faults, "faults", "CPU page faults on managed memory, of this GPU's process"},
    Field{"h2d_bytes", &GpuCounts::h2d_bytes, "B", "moved to the GPU by UVM"},
    Field{"d2h_bytes", &GpuCounts::d2h_bytes, "B", "moved to the host by UVM"},
    Field{"peer_bytes", &GpuCounts::peer_bytes, "B", "moved from another GPU by UVM"},
    Field{"h2d_copies", &GpuCounts::h2d_copies, "copies",
          "maximal runs of pages moved to the GPU for one cause: what a profiler shows as one migration"},
    Field{"d2h_copies", &GpuCounts::d2h_copies, "copies", "the same, to the host"},
    Field{"copy_methods", &GpuCounts::copy_methods, "methods", "commands to the copy engines"},
    Field{"memcpy_h2d_bytes", &GpuCounts::memcpy_h2d_bytes, "B", "explicit copies to the GPU"},
    Field{"memcpy_d2h_bytes", &GpuCounts::memcpy_d2h_bytes, "B", "explicit copies to the host"},
    Field{"prefetched_bytes", &GpuCounts::prefetched_bytes, "B", "moved or populated without a fault asking for them"},
    Field{"populated_bytes", &GpuCounts::populated_bytes, "B", "made resident without a copy"},
    Field{"zeroed_bytes", &GpuCounts::zeroed_bytes, "B", "GPU memory cleared before use"},
    Field{"evicted_chunks", &GpuCounts::evicted_chunks, "chunks", "2 MiB root chunks evicted"},
    Field{"evicted_bytes", &GpuCounts::evicted_bytes, "B", "resident on evicted chunks"},
    Field{"dead_h2d_bytes", &GpuCounts::dead_h2d_bytes, "B",
          "moved to the GPU, then overwritten as a whole before anything read them"},
    Field{"remote_bytes", &GpuCounts::remote_bytes, "B", "accessed over the link without moving"},
    Field{"swap_ns", &GpuCounts::swap_ns, "ns", "copies of tensors under plans were under way, both ways added"},
    Field{"swap_overlapped_ns", &GpuCounts::swap_overlapped_ns, "ns", "of that, while a kernel ran"},
    Field{"swap_contention_ns", &GpuCounts::swap_contention_ns, "ns",
          "of that, what they took longer than with the links for themselves"}};
UVMSIM_NAMES_EVERY_MEMBER(GpuCounts);

template <>
inline constexpr auto kFields<GpuResult> = std::tuple{
    Field{"name", &GpuResult::name, "", "the GPU"},
    Field{"duration_s", &GpuResult::duration_s, "s", "one iteration: mean over the measured ones"},
    Embedded{&GpuResult::counts},
    Field{"time_split_s", &GpuResult::time_split_s, "s",
          "the iteration by cause; each instant of the compute stream has one, the first in this order that holds"},
    Field{"iteration_s", &GpuResult::iteration_s, "s", "every iteration, warm-up included"},
    Field{"iteration_h2d_bytes", &GpuResult::iteration_h2d_bytes, "B",
          "moved to the GPU by UVM in every iteration, warm-up included"}};
UVMSIM_NAMES_EVERY_MEMBER(GpuResult);

template <>
inline constexpr auto kFields<LinkDirectionResult> = std::tuple{
    Field{"name", &LinkDirectionResult::name, "", "the link and its direction; down is away from host memory"},
    Field{"bytes", &LinkDirectionResult::bytes, "B", "carried over the measured iterations"},
    Field{"busy_fraction", &LinkDirectionResult::busy_fraction, "1", "share of that time with a copy under way"},
    Field{"bandwidth", &LinkDirectionResult::bandwidth, "B/s", "capacity"},
    Field{"contention_s", &LinkDirectionResult::contention_s, "s",
          "that copies took longer than alone, added up; of each copy to the link that gave it the least bandwidth"}};
UVMSIM_NAMES_EVERY_MEMBER(LinkDirectionResult);

template <>
inline constexpr auto kFields<PoolState> = std::tuple{
    Field{"live_bytes", &PoolState::live_bytes, "B", "asked for and not freed"},
    Field{"active_bytes", &PoolState::active_bytes, "B", "the same as the allocator rounded it up"},
    Field{"reserved_bytes", &PoolState::reserved_bytes, "B", "held from the driver"},
    Field{"largest_free_bytes", &PoolState::largest_free_bytes, "B", "the largest free block of what is held"},
    Field{"internal_fragmentation_bytes", &PoolState::internal_fragmentation_bytes, "B", "active - live"},
    Field{"external_fragmentation", &PoolState::external_fragmentation, "1",
          "1 - largest free block / all that is free; 0: nothing is free, or the placement was recorded"}};
UVMSIM_NAMES_EVERY_MEMBER(PoolState);

template <>
inline constexpr auto kFields<DeviceAllocator> = std::tuple{
    Field{"device", &DeviceAllocator::device, "", "the process's number of its GPU"},
    Field{"peak", &DeviceAllocator::peak, "", "when the reserved bytes first were at their highest"},
    Field{"end", &DeviceAllocator::end, "", "after the last operation"},
    Field{"driver_allocs", &DeviceAllocator::driver_allocs, "calls", "cudaMalloc, cudaMallocManaged, cuMemMap"},
    Field{"driver_frees", &DeviceAllocator::driver_frees, "calls", "cudaFree, cuMemUnmap"},
    Field{"cache_flushes", &DeviceAllocator::cache_flushes, "flushes",
          "the allocator returned its cache because the driver had no memory left"}};
UVMSIM_NAMES_EVERY_MEMBER(DeviceAllocator);

template <>
inline constexpr auto kFields<ActionOutcome> =
    std::tuple{Field{"gpu", &ActionOutcome::gpu, "", "of the machine"},
               Field{"iteration", &ActionOutcome::iteration, "", "counted from 0"},
               Field{"action", &ActionOutcome::action, "", "of the plan of that iteration"},
               Field{"stall_s", &ActionOutcome::stall_s, "s", "streams and the host waited for its copies"},
               Field{"lateness_s", &ActionOutcome::lateness_s, "s", "of the copy in, after its first user came to it"},
               Field{"used", &ActionOutcome::used, "", "there was a copy in, and a user"}};
UVMSIM_NAMES_EVERY_MEMBER(ActionOutcome);

template <>
inline constexpr auto kFields<MemoryPeak> =
    std::tuple{Field{"name", &MemoryPeak::name, "", "the GPU or memory node"},
               Field{"bytes", &MemoryPeak::bytes, "B", "held of it by tensors under plans, at most"}};
UVMSIM_NAMES_EVERY_MEMBER(MemoryPeak);

template <>
inline constexpr auto kFields<MemoryMean> =
    std::tuple{Field{"name", &MemoryMean::name, "", "the GPU"},
               Field{"bytes", &MemoryMean::bytes, "B", "held of it by tensors under plans, mean over its kernels"}};
UVMSIM_NAMES_EVERY_MEMBER(MemoryMean);

template <>
inline constexpr auto kFields<LargestValue> =
    std::tuple{Field{"parameter", &LargestValue::parameter, "", "of the workload's generator"},
               Field{"planned", &LargestValue::planned, "", "its largest value with which the plan fits"},
               Field{"unplanned", &LargestValue::unplanned, "", "the same without a plan"}};
UVMSIM_NAMES_EVERY_MEMBER(LargestValue);

template <>
inline constexpr auto kFields<PlanNeed> = std::tuple{
    Field{"unplanned_bytes", &PlanNeed::unplanned_bytes, "B", "held by an iteration without a plan, at most"},
    Field{"need_bytes", &PlanNeed::need_bytes, "B", "the smallest memory that the planner's plan keeps to"},
    Field{"largest", &PlanNeed::largest, "", "per parameter"}};
UVMSIM_NAMES_EVERY_MEMBER(PlanNeed);

template <>
inline constexpr auto kFields<PlannedActions> =
    std::tuple{Field{"what", &PlannedActions::what, "", "move, move by CODEC, drop, recompute, encode by CODEC, ..."},
               Field{"count", &PlannedActions::count, "actions", "per iteration"},
               Field{"bytes", &PlannedActions::bytes, "B", "of the tensors that they take off the GPU"}};
UVMSIM_NAMES_EVERY_MEMBER(PlannedActions);

template <>
inline constexpr auto kFields<PlanSummary> =
    std::tuple{Field{"gpu", &PlanSummary::gpu, "", "that it is for"},
               Field{"first_iteration", &PlanSummary::first_iteration, "", "that it is for, counted from 0"},
               Field{"planner", &PlanSummary::planner, "", "who made it"},
               Field{"feasible", &PlanSummary::feasible, "",
                     "whether it keeps to budget_bytes by the planner's own model; what does not leaves on demand"},
               Field{"why", &PlanSummary::why, "", "what the planner has to say about it"},
               Field{"budget_bytes", &PlanSummary::budget_bytes, "B", "device memory that it was made for"},
               Field{"actions", &PlanSummary::actions, "", "by what they do"}};
UVMSIM_NAMES_EVERY_MEMBER(PlanSummary);

template <>
inline constexpr auto kFields<PlanOutcome> =
    std::tuple{Field{"family", &PlanOutcome::family, "",
                     "of the plans: swap, recompute, compress or hybrid; empty: there were none"},
               Field{"plans", &PlanOutcome::plans, "", "per GPU"},
               Field{"actions", &PlanOutcome::actions, "", "per action and iteration"},
               Field{"memories", &PlanOutcome::memories, "", "per memory"},
               Field{"means", &PlanOutcome::means, "", "per GPU"},
               Field{"need", &PlanOutcome::need, "", "where it was asked"}};
UVMSIM_NAMES_EVERY_MEMBER(PlanOutcome);

template <>
inline constexpr auto kFields<LoadingRates> = std::tuple{
    Field{"synthetic_samples_per_s", &LoadingRates::synthetic_samples_per_s, "1/s",
          "trained with where batches are there when they are asked for"},
    Field{"cached_samples_per_s", &LoadingRates::cached_samples_per_s, "1/s", "the same, from items in memory"},
    Field{"loaded_samples_per_s", &LoadingRates::loaded_samples_per_s, "1/s", "the same, as configured"},
    Field{"cached_share", &LoadingRates::cached_share, "1", "of the items, read from the server's own memory"},
    Field{"remote_share", &LoadingRates::remote_share, "1", "of the items, read from other servers' memory"}};
UVMSIM_NAMES_EVERY_MEMBER(LoadingRates);

template <>
inline constexpr auto kFields<Result> = std::tuple{
    Field{"outcome", &Result::outcome, "", "how the run ended"},
    Field{"detail", &Result::detail, "", "why it did not complete: who waits for what"},
    Field{"duration_s", &Result::duration_s, "s", "one iteration of the slowest GPU"},
    Field{"samples", &Result::samples, "", "samples of one iteration, all GPUs together"},
    Field{"sample_unit", &Result::sample_unit, "", "what a sample is"},
    Field{"warmup_iterations", &Result::warmup_iterations, "iterations", "not measured"},
    Field{"measured_iterations", &Result::measured_iterations, "iterations", "measured"},
    Field{"period", &Result::period, "iterations", "length of the cycle that the iterations repeat; 0: none found"},
    Field{"peak_live_bytes", &Result::peak_live_bytes, "B", "asked for by one process and not freed, at most"},
    Field{"reserved_bytes", &Result::reserved_bytes, "B", "held by one process's allocator"},
    Field{"allocators", &Result::allocators, "", "memory of one process, per device"},
    Field{"host_peak_bytes", &Result::host_peak_bytes, "B", "managed pages in host memory, at most"},
    Field{"gpus", &Result::gpus, "", "per GPU"},
    Field{"links", &Result::links, "", "per direction of each link"},
    Field{"plan", &Result::plan, "", "what plans on explicit memory did"},
    Field{"loading", &Result::loading, "", "where it was asked"},
    Field{"events", &Result::events, "events", "driver steps, copies and stream operations"},
    Field{"history_hash", &Result::history_hash, "", "of the order of those"}};
UVMSIM_NAMES_EVERY_MEMBER(Result);

// The counts of both, member by member.
GpuCounts operator+(GpuCounts a, const GpuCounts& b);
TimeSplit operator+(TimeSplit a, const TimeSplit& b);

// "completed", "out_of_memory", ...
std::string_view name_of(Outcome outcome);
// The inverse; UVMSIM_CHECK that there is one.
Outcome outcome_named(std::string_view name);

}  // namespace uvmsim
