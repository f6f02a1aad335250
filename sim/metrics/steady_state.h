// Which iterations of a run to report.
#pragma once

#include <cstdint>
#include <span>

namespace uvmsim {

// The steady state of a run: iterations [first, first + count), whole cycles of `period`; period 0 when none
// was found, then everything after the warm-up.
struct SteadyState {
  int first = 0, count = 0, period = 0;
};

// Finds the smallest period (up to 4) with which duration and bytes repeat, within 1 %, after `warmup`
// iterations. Never reports a single iteration of a longer cycle: eviction order can have period 2 (spec "the
// four language-model rows"), and its last iteration is not its mean.
SteadyState find_steady_state(std::span<const double> duration_s, std::span<const std::int64_t> h2d_bytes, int warmup);

}  // namespace uvmsim
