#include "study/planning.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "plan/planned_calls.h"
#include "report/json.h"
#include "study/child_process.h"
#include "study/mip_solver.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

// The path from a GPU up to the host memory nearest to it.
LinkModel link_model(const Machine& machine, int gpu) {
  LinkModel model{.latency = machine.gpus[static_cast<std::size_t>(gpu)].copy.method_latency};
  const auto narrow = [](BytesPerSecond& rate, BytesPerSecond link) {
    if (link.value > 0 && (rate.value == 0 || link < rate)) rate = link;
  };
  for (const LinkSpec* link : links_to_memory(machine, gpu)) {
    narrow(model.in, link->down);
    narrow(model.out, link->up);
  }
  return model;
}

// The workload's devices of each GPU: replicas are device 0 of a process each.
int device_of(const Experiment& experiment, int gpu) { return experiment.workload.data_parallel ? 0 : gpu; }

std::vector<int> gpus_of(const Experiment& experiment, const trace::Trace& trace) {
  const std::size_t devices = std::max<std::size_t>(trace.header.devices.size(), 1);
  std::vector<int> gpus(experiment.workload.data_parallel ? experiment.machine.gpus.size() : devices);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// Tensors as they are asked for: whatever allocator placed them when they were recorded.
trace::Trace without_segments(trace::Trace trace) {
  std::erase_if(trace.records, [](const trace::Record& r) {
    return std::holds_alternative<trace::SegmentAlloc>(r) || std::holds_alternative<trace::SegmentFree>(r);
  });
  for (trace::Record& r : trace.records)
    if (auto* a = std::get_if<trace::Alloc>(&r)) a->segment = a->offset = -1;
  return trace;
}

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

std::vector<Plan> plans_of(const std::vector<Plan>& plans, int gpu) {
  std::vector<Plan> own;
  std::ranges::copy_if(plans, std::back_inserter(own), [&](const Plan& p) { return p.gpu == gpu; });
  for (Plan& p : own) p.gpu = 0;
  return own;
}

class Services final : public PlanServices {
 public:
  Services(const Experiment& experiment, const trace::Trace& trace) : experiment_(experiment), trace_(trace) {}

  std::optional<MipSolution> solve(const MipModel& model, const MipLimits& limits,
                                   const std::vector<std::pair<std::size_t, bool>>& start) override {
    return solve_with_cbc(model, limits, start);
  }

  Duration evaluate(std::span<const Plan> plans) override {
    std::vector<int> gpus;
    for (const Plan& p : plans)
      if (std::ranges::find(gpus, p.gpu) == gpus.end()) gpus.push_back(p.gpu);
    ChildProcess child([&] {
      return to_json(run_planned(experiment_, trace_, {plans.begin(), plans.end()}, {.progress = {}}, gpus));
    });
    const std::optional<Result> result = result_from_json(child.wait());
    return result && result->outcome == Outcome::Completed ? from_seconds(result->duration_s) : kNever;
  }

 private:
  const Experiment& experiment_;
  const trace::Trace& trace_;
};

}  // namespace

std::vector<std::vector<Profile>> profiles_of(const Experiment& experiment, const trace::Trace& trace) {
  std::vector<std::vector<Profile>> groups;
  for (const int gpu : gpus_of(experiment, trace)) {
    const ProfileSetting setting{.launch = experiment.machine.host.runtime.kernel_launch,
                                 .links = link_model(experiment.machine, gpu),
                                 .budget = experiment.machine.gpus[static_cast<std::size_t>(gpu)].usable_memory};
    for (Profile& profile : profile_iterations(trace, device_of(experiment, gpu), gpu, setting)) {
      if (profile.iteration < experiment.run.warmup || profile.graph->kernels.empty()) continue;
      const auto group = std::ranges::find_if(groups, [&](const auto& g) { return g[0].shape() == profile.shape(); });
      if (group == groups.end())
        groups.push_back({std::move(profile)});
      else
        group->push_back(std::move(profile));
    }
  }
  if (groups.empty()) throw UserError(experiment.name, "there is nothing to plan: no iteration has a kernel");
  return groups;
}

PlanFile make_plans(const Experiment& experiment, const trace::Trace& trace) {
  if (experiment.plan.parameters == nullptr)
    throw UserError(experiment.name, {{"/plan", R"(missing; expected an object such as {"planner": "lms_like"})"}});
  PlanFile file{.workload = trace.header.name, .plans = {}};
  Services services(experiment, trace);
  for (const std::vector<Profile>& group : profiles_of(experiment, trace))
    for (Plan& plan : experiment.plan.parameters->plan(group, services)) file.plans.push_back(std::move(plan));
  std::ranges::stable_sort(file.plans, {}, [](const Plan& p) { return std::pair(p.gpu, p.iteration); });
  return file;
}

void check_plans(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans) {
  const auto groups = profiles_of(experiment, trace);
  for (const Plan& plan : plans) {
    const Profile* profile = nullptr;
    for (const auto& group : groups)
      for (const Profile& p : group)
        if (p.gpu == plan.gpu && p.shape() == plan.iteration) profile = &p;
    if (profile != nullptr) check_plan(*profile, plan);
  }
  const auto fits = [&](const Plan& plan) {
    return std::ranges::any_of(groups, [&](const auto& g) { return g[0].shape() == plan.iteration; });
  };
  if (!plans.empty() && std::ranges::none_of(plans, fits))
    throw UserError("the plan does not fit the workload",
                    "no measured iteration of " + trace.header.name + " has the kernels and allocations it is for");
}

Result run_planned(const Experiment& experiment, trace::Trace trace, const std::vector<Plan>& plans, RunOptions options,
                   std::vector<int> gpus) {
  options.warmup = experiment.run.warmup;
  options.audit = experiment.run.audit;
  options.process_stagger = experiment.run.process_stagger;
  options.coordinator = experiment.plan.coordinator_options.get();
  check_phases(experiment, trace);
  if (gpus.empty()) gpus = gpus_of(experiment, trace);
  const bool replicas = experiment.workload.data_parallel;

  if (experiment.workload.placement.memory == "device") {
    const Program program =
        place(without_segments(std::move(trace)), {.allocator = "none", .memory = "device", .kind = nullptr});
    std::vector<Process> processes;
    if (!replicas) processes.push_back({&program, gpus, &plans});
    for (std::size_t g = 0; replicas && g < gpus.size(); ++g) processes.push_back({&program, {gpus[g]}, &plans});
    return run(experiment.machine, processes, options);
  }

  // GPUs under the same plans share a program.
  std::vector<std::pair<std::vector<Plan>, std::unique_ptr<Program>>> programs;
  std::vector<Process> processes;
  const auto program_under = [&](const std::vector<Plan>& own, std::vector<InsertedCall> calls) -> const Program& {
    const auto same = std::ranges::find_if(programs, [&](const auto& p) { return p.first == own; });
    if (same != programs.end()) return *same->second;
    programs.emplace_back(
        own, std::make_unique<Program>(place(insert_calls(trace, std::move(calls)), placement_of(experiment))));
    return *programs.back().second;
  };
  if (replicas) {
    for (const int gpu : gpus) {
      const std::vector<Plan> own = plans_of(plans, gpu);
      processes.push_back({&program_under(own, planned_calls(trace, 0, own)), {gpu}});
    }
  } else {
    std::vector<InsertedCall> calls;
    for (const int gpu : gpus)
      std::ranges::move(planned_calls(trace, gpu, plans_of(plans, gpu)), std::back_inserter(calls));
    std::ranges::stable_sort(calls, {}, &InsertedCall::at);
    processes.push_back({&program_under(plans, std::move(calls)), gpus});
  }
  return run(experiment.machine, processes, options);
}

}  // namespace uvmsim
