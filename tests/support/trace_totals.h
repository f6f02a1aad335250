// What one iteration of a generated trace does, to compare with an independent re-enactment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include "trace/record.h"

namespace uvmsim::testing_support {

// Of the last iteration; `peak_live` is the most bytes that live at once in the whole trace.
struct TraceTotals {
  std::int64_t kernels = 0, allocs = 0, frees = 0, kernel_ns = 0, bytes_touched = 0, peak_live = 0;
  friend bool operator==(const TraceTotals&, const TraceTotals&) = default;
  friend std::ostream& operator<<(std::ostream& out, const TraceTotals& t) {
    return out << t.kernels << " kernels, " << t.allocs << " allocs, " << t.frees << " frees, " << t.kernel_ns
               << " ns, " << t.bytes_touched << " B touched, " << t.peak_live << " B live";
  }
};

inline std::int64_t bytes_touched(const trace::Trace& t, const trace::Access& access, std::int64_t tensor_bytes) {
  std::int64_t bytes = (access.length < 0 ? tensor_bytes : access.length) * access.passes;
  if (access.pattern == trace::Pattern::Strided || access.pattern == trace::Pattern::Random) {
    const trace::PatternOptions& o = t.options.at(static_cast<std::size_t>(access.options));
    bytes = std::min(bytes, o.width * (access.pattern == trace::Pattern::Random ? o.count : bytes / o.stride));
  }
  return access.mode == trace::Mode::ReadWrite ? 2 * bytes : bytes;
}

inline TraceTotals last_iteration_of(const trace::Trace& t) {
  TraceTotals totals;
  std::map<trace::TensorId, std::int64_t> live;
  std::int64_t live_bytes = 0, peak = 0;
  for (const trace::Record& record : t.records) {
    if (std::holds_alternative<trace::Iteration>(record)) totals = {};
    if (const auto* a = std::get_if<trace::Alloc>(&record)) {
      ++totals.allocs;
      live[a->tensor] = a->bytes;
      live_bytes += a->bytes;
      peak = std::max(peak, live_bytes);
    }
    if (const auto* f = std::get_if<trace::Free>(&record)) {
      ++totals.frees;
      live_bytes -= live.at(f->tensor);
      live.erase(f->tensor);
    }
    if (const auto* k = std::get_if<trace::Kernel>(&record)) {
      ++totals.kernels;
      totals.kernel_ns += k->duration_ns;
      for (std::uint32_t i = 0; i < k->accesses.count; ++i) {
        const trace::Access& access = t.accesses[k->accesses.first + i];
        totals.bytes_touched += bytes_touched(t, access, live.at(access.tensor));
      }
    }
  }
  totals.peak_live = peak;
  return totals;
}

// Elements of all parameters: `element_bytes` each, allocated before the first iteration.
inline std::int64_t parameters_of(const trace::Trace& t, std::int64_t element_bytes = 4) {
  std::int64_t bytes = 0;
  for (const trace::Record& record : t.records) {
    if (std::holds_alternative<trace::Iteration>(record)) break;
    if (const auto* a = std::get_if<trace::Alloc>(&record)) bytes += a->bytes;
  }
  return bytes / element_bytes;
}

// The most bytes of tensors of the kind that live on the device at once.
inline std::int64_t most_bytes(const trace::Trace& trace, int device, const std::string& kind) {
  std::map<trace::TensorId, std::int64_t> live;
  std::int64_t now = 0, most = 0;
  for (const trace::Record& record : trace.records) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&record);
        alloc != nullptr && alloc->device == device && trace.header.kinds.at(alloc->kind) == kind)
      most = std::max(most, now += live[alloc->tensor] = alloc->bytes);
    if (const auto* free = std::get_if<trace::Free>(&record); free != nullptr && live.contains(free->tensor))
      now -= live.extract(free->tensor).mapped();
  }
  return most;
}

}  // namespace uvmsim::testing_support
