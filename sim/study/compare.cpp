#include "study/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "report/json.h"
#include "study/simulate.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {
namespace {

// In a process of its own; point 0 is the reference.
std::string simulate_point(const Experiment& base, const std::vector<PolicyExperiment>& policies,
                           const trace::Trace& trace, std::size_t point) {
  if (point == 0) return to_json(run_in_core(base, trace));
  return to_json(run_experiment(policies[point - 1].experiment, trace));
}

void note(PolicyResult& of, const PointOutcome& outcome) {
  of.result = result_from_json(outcome.report);
  if (!of.result) of.error = outcome.error.empty() ? "the simulation handed over no result" : outcome.error;
}

}  // namespace

Comparison compare(const Experiment& base, const std::vector<PolicyExperiment>& policies,
                   const CompareOptions& options) {
  const trace::Trace trace = make_trace(base);
  Comparison comparison{.experiment = base.name,
                        .description = base.description,
                        .settings = options.settings,
                        .managed = false,
                        .in_core = {},
                        .policies = {}};
  comparison.in_core.policy = {.name = "in_core",
                               .description = "unlimited GPU memory: a reference",
                               .on_hardware = "a GPU with more memory",
                               .settings = {}};
  for (const PolicyExperiment& each : policies) {
    with_calls(each.experiment, trace);  // refuses what the trace does not allow, before anything runs
    comparison.managed |= each.experiment.workload.placement.memory == "managed";
    comparison.policies.push_back({.policy = each.policy, .result = {}, .error = {}});
  }

  const std::size_t points = policies.size() + 1;
  PointProcesses workers([&](std::size_t point) { return simulate_point(base, policies, trace, point); },
                         static_cast<std::size_t>(std::max(options.processes, 1)),
                         {.timeout = std::chrono::hours(24), .memory = {}});
  std::size_t started = 0, done = 0;
  while (done < points) {
    while (started < points && workers.free() > 0) workers.start(started++);
    for (const PointOutcome& outcome : workers.wait(std::chrono::milliseconds(200))) {
      note(outcome.point == 0 ? comparison.in_core : comparison.policies[outcome.point - 1], outcome);
      ++done;
    }
    if (options.progress) options.progress(done, points);
  }
  return comparison;
}

void add_bands(Comparison& comparison, const PublishedErrors& errors, const Machine& machine) {
  const BytesPerSecond remote = machine.gpus[GpuIndex{0}].remote_bandwidth;
  const PolicyResult& first = comparison.told_apart_from();
  const auto add = [&](PolicyResult& of) {
    if (!of.completed()) return;
    of.band = band_of(errors, machine, of.result->gpus, of.result->duration_s);
    if (&of == &first || !first.completed()) return;
    of.speedup_spread = spread_of_ratio(errors.model, shares_of(first.result->gpus, remote),
                                        shares_of(of.result->gpus, remote), of.band->own_costs);
    of.told_apart = std::abs(std::log(first.result->duration_s / of.result->duration_s)) >
                    errors.model.quantile * of.speedup_spread;
  };
  add(comparison.in_core);
  for (PolicyResult& policy : comparison.policies) add(policy);
}

}  // namespace uvmsim
