#include "workload/calibrate.h"

#include <cmath>
#include <cstdio>

#include "base/user_error.h"

namespace uvmsim {
namespace {

std::int64_t kernel_ns_of_last_iteration(const trace::Trace& trace) {
  std::int64_t sum = 0;
  for (const trace::Record& record : trace.records) {
    if (std::holds_alternative<trace::Iteration>(record)) sum = 0;
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) sum += kernel->duration_ns;
  }
  return sum;
}

std::string rescaled(const std::string& durations, double factor, std::int64_t target_ns) {
  char text[64];
  std::snprintf(text, sizeof text, " rescaled x%.3f to %.6g s", factor, static_cast<double>(target_ns) * 1e-9);
  return durations + text;
}

}  // namespace

void scale_durations(trace::Trace& trace, Duration iteration) {
  const std::int64_t target_ns = iteration.count() / 1000;
  const std::int64_t sum_ns = kernel_ns_of_last_iteration(trace);
  if (target_ns <= 0) throw UserError(trace.header.name, "cannot scale kernel durations to less than 1 ns");
  if (sum_ns <= 0) throw UserError(trace.header.name, "cannot scale durations: the last iteration has no kernel time");

  const double factor = static_cast<double>(target_ns) / static_cast<double>(sum_ns);
  std::int64_t before = 0;  // of this iteration, unscaled
  const auto scaled = [&](std::int64_t ns) { return std::llround(static_cast<double>(ns) * factor); };
  for (trace::Record& record : trace.records) {
    if (std::holds_alternative<trace::Iteration>(record)) before = 0;
    if (auto* kernel = std::get_if<trace::Kernel>(&record)) {
      const std::int64_t after = before + kernel->duration_ns;
      kernel->duration_ns = scaled(after) - scaled(before);
      before = after;
    }
  }
  for (trace::LaunchVariants& variants : trace.variants)
    for (trace::LaunchVariant& variant : variants) variant.duration_ns = scaled(variant.duration_ns);
  trace.header.durations_status = "scaled";
  trace.header.durations = rescaled(trace.header.durations, factor, target_ns);
}

}  // namespace uvmsim
