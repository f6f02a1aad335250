#include "metrics/steady_state.h"

#include <algorithm>
#include <cmath>

namespace uvmsim {
namespace {

constexpr int kLongestPeriod = 4;
constexpr double kTolerance = 0.01;

bool alike(double a, double b) { return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

}  // namespace

SteadyState find_steady_state(std::span<const double> duration_s, std::span<const std::int64_t> h2d_bytes, int warmup) {
  const int iterations = static_cast<int>(duration_s.size());
  const int first = std::clamp(warmup, 0, std::max(iterations - 1, 0));
  const int after = iterations - first;
  for (int period = 1; period <= kLongestPeriod && 2 * period <= after; ++period) {
    bool repeats = true;
    for (int i = first; i + period < iterations && repeats; ++i) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(i + period);
      repeats = alike(duration_s[a], duration_s[b]) &&
                alike(static_cast<double>(h2d_bytes[a]), static_cast<double>(h2d_bytes[b]));
    }
    const int count = after / period * period;
    if (repeats) return {iterations - count, count, period};
  }
  return {first, after, 0};
}

}  // namespace uvmsim
