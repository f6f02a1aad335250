// A result with small numbers that are easy to add up, for tests of reports.
#pragma once

#include "metrics/result.h"

namespace uvmsim::test {

// Two GPUs: gpu0 takes 6 s and gpu1 8 s an iteration, of 16 samples together.
inline Result sample_result() {
  GpuResult gpu0{.name = "gpu0",
                 .duration_s = 6,
                 .counts = {.kernels = 100, .fault_batches = 12, .fault_groups = 10, .fault_entries = 640},
                 .time_split_s = {.fault_cpu_s = 1, .eviction_s = 2, .copy_in_s = 1, .compute_s = 2},
                 .iteration_s = {7, 6, 6},
                 .iteration_h2d_bytes = {5, 3, 3}};
  gpu0.counts.h2d_bytes = 3'000'000'000;
  gpu0.counts.h2d_copies = 1'500;
  gpu0.counts.d2h_bytes = 2'000'000'000;
  gpu0.counts.d2h_copies = 1'000;
  gpu0.counts.evicted_chunks = 953;
  gpu0.counts.evicted_bytes = 1'998'585'856;
  gpu0.counts.dead_h2d_bytes = 1'500'000'000;
  GpuResult gpu1 = gpu0;
  gpu1.name = "gpu1";
  gpu1.duration_s = 8;
  gpu1.counts.fault_groups = 20;
  gpu1.time_split_s.compute_s = 4;
  return {
      .detail = "",
      .duration_s = 8,
      .samples = 16,
      .sample_unit = "samples",
      .warmup_iterations = 1,
      .measured_iterations = 2,
      .period = 1,
      .peak_live_bytes = 60'000'000'000,
      .reserved_bytes = 66'000'000'000,
      .allocators = {{.device = 0,
                      .peak = {.live_bytes = 59'000'000'000,
                               .active_bytes = 61'000'000'000,
                               .reserved_bytes = 66'000'000'000,
                               .largest_free_bytes = 4'000'000'000,
                               .internal_fragmentation_bytes = 2'000'000'000,
                               .external_fragmentation = 0.2},
                      .end = {.live_bytes = 1'000'000'000,
                              .active_bytes = 1'000'000'000,
                              .reserved_bytes = 66'000'000'000,
                              .largest_free_bytes = 26'000'000'000,
                              .external_fragmentation = 0.6},
                      .driver_allocs = 2'132,
                      .driver_frees = 12,
                      .cache_flushes = 1}},
      .host_peak_bytes = 40'000'000'000,
      .gpus = {gpu0, gpu1},
      .links = {{.name = "pcie0 down", .bytes = 6'000'000'000, .busy_fraction = 0.5, .bandwidth = 12e9},
                {.name = "pcie0 up", .bytes = 4'000'000'000, .busy_fraction = 0.25, .bandwidth = 12e9},
                {.name = "nvlink0-1 down", .bytes = 0, .busy_fraction = 0, .bandwidth = 22e9},
                {.name = "nvlink0-1 up", .bytes = 0, .busy_fraction = 0, .bandwidth = 22e9}},
      .plan = {.family = "hybrid",
               .plans = {{.gpu = "gpu1",
                          .first_iteration = 1,
                          .planner = "g10",
                          .feasible = false,
                          .why = "3 intervals, 3 KB each way",
                          .budget_bytes = 2'000,
                          .actions = {{.what = "move", .count = 3, .bytes = 3'000}}}},
               .actions = {{.gpu = 1, .iteration = 2, .action = 3, .stall_s = 0.5, .lateness_s = -0.25, .used = true}},
               .memories = {{"gpu1", 1'000}},
               .means = {{"gpu1", 750.5}},
               .need = {.unplanned_bytes = 3'000, .need_bytes = 2'000, .largest = {{"batch", 6, 4}}}},
      .loading = {.synthetic_samples_per_s = 500,
                  .cached_samples_per_s = 400,
                  .loaded_samples_per_s = 300,
                  .cached_share = 0.5,
                  .remote_share = 0.25},
      .events = 4'000,
      .history_hash = 0x0123456789abcdef};
}

}  // namespace uvmsim::test
