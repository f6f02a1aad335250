#include "study/planned_run.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/user_error.h"
#include "plan/lower.h"
#include "plan/lower_managed.h"
#include "plan/plan_choices.h"
#include "study/plan_program.h"
#include "study/simulate.h"
#include "trace/header.h"

namespace uvmsim {
namespace {

void check_phases(const Experiment& experiment, const trace::Trace& trace) {
  if (experiment.plan.coordinator_options == nullptr || !experiment.plan.coordinator_options->takes_turns()) return;
  const bool forward = std::ranges::any_of(trace.records, [&](const trace::Record& r) {
    const auto* phase = std::get_if<trace::Phase>(&r);
    return phase != nullptr && trace.strings[static_cast<std::size_t>(phase->name)] == "forward";
  });
  if (!forward)
    throw UserError(experiment.name, {{"/plan/coordinator", experiment.plan.coordinator +
                                                                " lets forward passes take turns, and the workload has "
                                                                "no phase \"forward\""}});
}

std::vector<Plan> plans_of(const std::vector<Plan>& plans, GpuIndex gpu) {
  std::vector<Plan> own;
  std::ranges::copy_if(plans, std::back_inserter(own), [&](const Plan& p) { return p.gpu == gpu; });
  for (Plan& p : own) p.gpu = {};
  return own;
}

// Programs under plans: GPUs under the same plans share one.
class ProgramsByPlans {
 public:
  template <class Make>
  const Program& under(const std::vector<Plan>& plans, Make&& make) {
    const auto same = std::ranges::find_if(programs_, [&](const auto& p) { return p.first == plans; });
    if (same != programs_.end()) return *same->second;
    programs_.emplace_back(plans, std::make_unique<Program>(make()));
    return *programs_.back().second;
  }

 private:
  std::vector<std::pair<std::vector<Plan>, std::unique_ptr<Program>>> programs_;
};

Result run_explicit(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans,
                    const std::vector<GpuIndex>& gpus, const RunOptions& options) {
  const Program placed = place(trace, {.allocator = "none", .memory = "device", .keep_tensors = true, .kind = nullptr});
  ProgramsByPlans programs;
  std::vector<Process> processes;
  const AllocatorFactory* allocator =
      experiment.plan.device_memory == "placed" ? experiment.workload.placement.kind.get() : nullptr;
  const auto add = [&](const std::vector<Plan>& own, IndexedVector<DeviceOrdinal, GpuIndex> on) {
    processes.push_back(
        {&programs.under(own, [&] { return lower(placed, trace, own); }), std::move(on), true, allocator});
  };
  if (!experiment.workload.data_parallel) add(plans, {gpus.begin(), gpus.end()});
  for (std::size_t g = 0; experiment.workload.data_parallel && g < gpus.size(); ++g)
    add(plans_of(plans, gpus[g]), {gpus[g]});
  return run(experiment.machine, processes, options);
}

Result run_managed(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans,
                   const std::vector<GpuIndex>& gpus, const RunOptions& options) {
  if (std::optional<Result> refused = refused_by_ipc(trace, placement_of(experiment))) return *std::move(refused);
  ProgramsByPlans programs;
  std::vector<Process> processes;
  const auto place_with = [&](std::vector<InsertedCall> calls) {
    return place(insert_calls(trace, std::move(calls)), placement_of(experiment));
  };
  if (experiment.workload.data_parallel) {
    for (const GpuIndex gpu : gpus) {
      const std::vector<Plan> own = plans_of(plans, gpu);
      processes.push_back(
          {&programs.under(own, [&] { return place_with(lower_managed(trace, DeviceOrdinal{}, own)); }), {gpu}});
    }
  } else {
    std::vector<InsertedCall> calls;
    for (const GpuIndex gpu : gpus)
      std::ranges::move(lower_managed(trace, device_of(experiment, gpu), plans_of(plans, gpu)),
                        std::back_inserter(calls));
    std::ranges::stable_sort(calls, {}, &InsertedCall::at);
    processes.push_back(
        {&programs.under(plans, [&] { return place_with(std::move(calls)); }), {gpus.begin(), gpus.end()}});
  }
  return run(experiment.machine, processes, options);
}

PlanSummary summary_of(const Plan& plan) {
  PlanSummary summary{.gpu = "gpu" + std::to_string(plan.gpu.value),
                      .first_iteration = plan.first_iteration,
                      .planner = plan.planner,
                      .feasible = plan.feasible,
                      .why = plan.why,
                      .budget_bytes = plan.budget.value,
                      .actions = {}};
  for (const auto& [what, count] : action_counts(plan))
    summary.actions.push_back({.what = what, .count = count.actions, .bytes = count.bytes});
  return summary;
}

}  // namespace

std::vector<GpuIndex> gpus_of(const Experiment& experiment, const trace::Trace& trace) {
  const std::size_t devices = trace::device_count(trace.header);
  std::vector<GpuIndex> gpus(experiment.workload.data_parallel ? experiment.machine.gpus.size() : devices);
  std::iota(gpus.begin(), gpus.end(), GpuIndex{});
  return gpus;
}

Result run_planned(const Experiment& experiment, trace::Trace trace, const std::vector<Plan>& plans, RunOptions options,
                   std::vector<GpuIndex> gpus) {
  options.warmup = experiment.run.warmup;
  options.audit = experiment.run.audit;
  options.process_stagger = experiment.run.process_stagger;
  options.coordinator = experiment.plan.coordinator_options.get();
  check_phases(experiment, trace);
  if (gpus.empty()) gpus = gpus_of(experiment, trace);
  Result result = experiment.workload.placement.memory == "device"
                      ? run_explicit(experiment, as_explicit_memory(std::move(trace)), plans, gpus, options)
                      : run_managed(experiment, trace, plans, gpus, options);
  if (plans.empty()) return result;
  result.plan.family = family_of(plans);
  for (const Plan& plan : plans) result.plan.plans.push_back(summary_of(plan));
  return result;
}

}  // namespace uvmsim
