#include "report/report.h"

#include <array>
#include <cstdio>
#include <utility>

namespace uvmsim {
namespace {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

Totals totals_of(const std::vector<GpuResult>& gpus) {
  Totals totals;
  for (const GpuResult& gpu : gpus) {
    totals.gpu_s += gpu.duration_s;
    totals.counts = totals.counts + gpu.counts;
    totals.time_split_s = totals.time_split_s + gpu.time_split_s;
  }
  return totals;
}

// nullopt: the result does not say on how many GPUs its process is, or the GPU is not known.
std::optional<double> oversubscription_of(const Result& result, std::int64_t usable_bytes) {
  if (usable_bytes <= 0 || result.allocators.empty()) return std::nullopt;
  return static_cast<double>(result.reserved_bytes) /
         (static_cast<double>(usable_bytes) * static_cast<double>(result.allocators.size()));
}

// The time of an iteration of a reference that ran.
std::optional<double> time_of(const Result* reference) {
  if (reference == nullptr || reference->outcome != Outcome::Completed || reference->duration_s <= 0)
    return std::nullopt;
  return reference->duration_s;
}

Summary summary_of(const Result& result, const References& references, const Setup& setup) {
  Summary summary{.duration_s = result.duration_s,
                  .throughput = throughput_of(result),
                  .peak_live_bytes = result.peak_live_bytes,
                  .reserved_bytes = result.reserved_bytes,
                  .oversubscription = oversubscription_of(result, setup.usable_memory_bytes),
                  .allocators = result.allocators,
                  .host_peak_bytes = result.host_peak_bytes,
                  .totals = totals_of(result.gpus),
                  .gpus = result.gpus};
  const bool told = !setup.operands || (setup.operands->enough && !setup.operands->faulty_durations);
  if (!told) return summary;
  summary.cuda_malloc_duration_s = time_of(references.cuda_malloc);
  summary.in_core_duration_s = time_of(references.in_core);
  if (summary.cuda_malloc_duration_s) summary.cuda_malloc_throughput = throughput_of(*references.cuda_malloc);
  if (!summary.throughput) return summary;
  if (summary.cuda_malloc_duration_s) summary.slowdown = result.duration_s / *summary.cuda_malloc_duration_s;
  if (summary.in_core_duration_s) summary.in_core_slowdown = result.duration_s / *summary.in_core_duration_s;
  return summary;
}

std::optional<PlanReport> plan_report_of(const PlanOutcome& plan) {
  if (plan.plans.empty()) return std::nullopt;
  return PlanReport{.family = plan.family, .plans = plan.plans, .memories = plan.memories};
}

}  // namespace

std::optional<Throughput> throughput_of(const Result& result) {
  if (result.outcome != Outcome::Completed || result.duration_s <= 0) return std::nullopt;
  if (result.samples <= 0) return Throughput{1 / result.duration_s, "iterations/s"};
  const std::string unit = result.sample_unit.empty() ? "samples" : result.sample_unit;
  return Throughput{result.samples / result.duration_s, unit + "/s"};
}

Report make_report(const Result& result, const References& references, RunContext context) {
  if (context.host.wall_s > 0) context.host.events_per_s = static_cast<double>(result.events) / context.host.wall_s;
  return {.outcome = result.outcome,
          .detail = result.detail,
          .summary = summary_of(result, references, context.setup),
          .plan = plan_report_of(result.plan),
          .links = result.links,
          .run = {.version = std::move(context.version),
                  .experiment = std::move(context.experiment),
                  .description = std::move(context.description),
                  .workload = std::move(context.workload),
                  .setup = std::move(context.setup),
                  .inputs = std::move(context.inputs),
                  .warmup_iterations = result.warmup_iterations,
                  .measured_iterations = result.measured_iterations,
                  .period = result.period,
                  .events = result.events,
                  .history_hash = hexadecimal(result.history_hash),
                  .assumptions = std::move(context.assumptions),
                  .host = context.host}};
}

}  // namespace uvmsim
