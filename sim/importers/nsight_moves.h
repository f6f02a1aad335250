// Runs of migrations of unified memory: what a call prefetched, and what the host took back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uvmsim {

// What cudaMemPrefetchAsync moved: a run of addresses.
struct NsightPrefetch {
  std::int64_t time = 0, device = 0, stream = 0;
  bool out = false;  // to the host
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};

// What the host took back after kernels: pages that followed each other, from the first migration on.
struct NsightHostRead {
  std::int64_t time = 0;
  std::uint64_t address = 0, end = 0;
  std::size_t kernels = 0;  // that had begun by then
};

// Each adds one migration of `bytes` > 0, in the order of their times, and returns whether it begins a run.
bool add_prefetch(std::vector<NsightPrefetch>& runs, const NsightPrefetch& next);
bool add_host_read(std::vector<NsightHostRead>& runs, const NsightHostRead& next);

}  // namespace uvmsim
