#include "study/compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/quantity.h"
#include "report/json.h"
#include "study/plan_need.h"
#include "study/planning.h"
#include "study/setup.h"
#include "study/shared_work.h"
#include "study/simulate.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {
namespace {

// What there is to simulate: the references, then each policy, then the needs of planners, then policies by memory.
class Points {
 public:
  Points(const Experiment& base, const std::vector<PolicyExperiment>& policies, const trace::Trace& trace,
         Comparison& comparison)
      : base_(base), policies_(policies), trace_(trace), comparison_(comparison) {
    for (std::size_t p = 0; p < policies.size(); ++p)
      if (policies[p].experiment.plan.parameters != nullptr &&
          policies[p].experiment.workload.placement.memory == "device")
        planners_.push_back(p);
  }

  std::size_t count() const {
    return references() + policies_.size() + planners_.size() + policies_.size() * comparison_.memories.size();
  }

  // In a process of its own, when there is a core for it.
  std::string simulate(std::size_t point) const {
    const WorkSlot slot;
    if (point == 0) return to_json(run_in_core(base_, trace_));
    if (point < references()) return to_json(run_with_cuda_malloc(base_, trace_));
    point -= references();
    if (point < policies_.size()) return result_of(policies_[point].experiment);
    point -= policies_.size();
    if (point < planners_.size()) {
      Result found;
      found.plan.need = plan_need(policies_[planners_[point]].experiment, trace_);
      return to_json(found);
    }
    point -= planners_.size();
    const Bytes memory = comparison_.memories[point / policies_.size()];
    return result_of(with_memory(policies_[point % policies_.size()].experiment, memory));
  }

  void note(const PointOutcome& outcome) {
    std::size_t point = outcome.point;
    const auto keep = [&](auto& of) { of.result = handed_over(outcome, of.error); };
    if (point == 0) return keep(comparison_.in_core);
    if (point < references()) return keep(*comparison_.cuda_malloc);
    point -= references();
    if (point < policies_.size()) return keep(comparison_.policies[point]);
    point -= policies_.size();
    if (point < planners_.size()) {
      if (const std::optional<Result> found = result_from_json(outcome.report))
        comparison_.policies[planners_[point]].need = found->plan.need;
      return;
    }
    point -= planners_.size();
    keep(comparison_.policies[point % policies_.size()].points[point / policies_.size()]);
  }

 private:
  std::size_t references() const { return comparison_.cuda_malloc ? 2 : 1; }

  std::string result_of(const Experiment& experiment) const {
    if (experiment.plan.parameters != nullptr) return planned_result(experiment, trace_);
    return to_json(run_experiment(experiment, trace_));
  }

  const Experiment& base_;
  const std::vector<PolicyExperiment>& policies_;
  const trace::Trace& trace_;
  Comparison& comparison_;
  std::vector<std::size_t> planners_;  // policies that are planners on explicit memory
};

// Ascending, each once, in whole units of 2 MiB.
std::vector<Bytes> memories_of(const std::vector<MemoryAmount>& amounts, const Experiment& base,
                               const trace::Trace& trace) {
  if (amounts.empty()) return {};
  const auto unplanned = static_cast<double>(unplanned_bytes(base, trace));
  std::vector<Bytes> memories;
  for (const MemoryAmount& amount : amounts) {
    const std::int64_t bytes =
        amount.share > 0 ? static_cast<std::int64_t>(amount.share * unplanned) : amount.bytes.value;
    memories.push_back({std::max<std::int64_t>(bytes / kBlockBytes, 1) * kBlockBytes});
  }
  std::ranges::sort(memories);
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
  return memories;
}

}  // namespace

std::optional<MemoryAmount> parse_memory_amount(std::string_view text) {
  MemoryAmount amount;
  if (const std::optional<Bytes> bytes = parse_bytes(text))
    amount.bytes = *bytes;
  else
    amount.share = parse_number(text).value_or(0);
  if (amount.share > kMostMemoryShare || (amount.bytes.value <= 0 && amount.share <= 0)) return std::nullopt;
  return amount;
}

Comparison compare(const Experiment& base, const std::vector<PolicyExperiment>& policies,
                   const CompareOptions& options) {
  const trace::Trace trace = make_trace(base);
  Comparison comparison{.experiment = base.name,
                        .description = base.description,
                        .setup = setup_of(base, trace),
                        .managed = false,
                        .memories = memories_of(options.memories, base, trace),
                        .in_core = {},
                        .policies = {}};
  comparison.in_core.policy = {.name = "in_core",
                               .description = "unlimited GPU memory: a reference",
                               .on_hardware = "a GPU with more memory",
                               .settings = {}};
  if (has_managed_memory(base, trace))
    comparison.cuda_malloc = {.policy = {.name = "cuda_malloc",
                                         .description = "cudaMalloc instead of managed memory: a reference",
                                         .on_hardware = "a GPU with more memory",
                                         .settings = {}},
                              .result = {},
                              .error = {}};
  for (const PolicyExperiment& each : policies) {
    with_calls(each.experiment, trace);  // refuses what the trace does not allow, before anything runs
    comparison.managed |= each.experiment.workload.placement.memory == "managed";
    comparison.policies.push_back({.policy = each.policy, .result = {}, .error = {}});
    comparison.policies.back().points.resize(comparison.memories.size());
  }

  Points points(base, policies, trace, comparison);
  run_points(
      points.count(), [&](std::size_t point) { return points.simulate(point); }, std::max(options.processes, 1),
      {.timeout = options.timeout, .memory = {}}, [&](const PointOutcome& outcome) { points.note(outcome); },
      options.watch);
  return comparison;
}

std::vector<FrontierPoint> frontier_of(const Comparison& comparison) {
  std::vector<FrontierPoint> frontier;
  for (std::size_t m = 0; m < comparison.memories.size(); ++m) {
    std::map<std::string, FrontierPoint> best;  // by family
    for (const PolicyResult& policy : comparison.policies) {
      const MemoryPoint& point = policy.points[m];
      if (!point.completed() || point.family().empty()) continue;
      const FrontierPoint here{.memory = m, .family = point.family(), .policy = &policy, .point = &point};
      const auto [at, is_new] = best.try_emplace(here.family, here);
      if (!is_new && point.result->duration_s < at->second.point->result->duration_s) at->second = here;
    }
    const auto time = [](const auto& entry) { return entry.second.point->result->duration_s; };
    const auto first = std::ranges::min_element(best, {}, time);
    if (first != best.end()) first->second.fastest = true;
    for (const auto& [family, point] : best) frontier.push_back(point);
  }
  return frontier;
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
  if (comparison.cuda_malloc) add(*comparison.cuda_malloc);
  add(comparison.in_core);
  for (PolicyResult& policy : comparison.policies) add(policy);
}

}  // namespace uvmsim
