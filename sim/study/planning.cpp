#include "study/planning.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "base/join.h"
#include "machine/memory_nodes.h"
#include "plan/codec.h"
#include "plan/encoded_moves.h"
#include "plan/link_model.h"
#include "plan/lower.h"
#include "plan/lower_managed.h"
#include "plan/plan_checker.h"
#include "plan/swap_schedule.h"
#include "report/json.h"
#include "study/child_process.h"
#include "study/mip_solver.h"
#include "study/plan_program.h"
#include "study/planned_run.h"
#include "study/planning_progress.h"
#include "study/shared_work.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

// Of what a run under plans is made, besides the trace.
std::string simulation_key(const Experiment& experiment, std::vector<Plan> plans, const std::vector<GpuIndex>& gpus) {
  std::string key = "run";
  for (const GpuIndex gpu : gpus)
    key += " " + std::to_string(gpu.value) + " " + std::to_string(experiment.machine.gpus[gpu].usable_memory.value);
  for (const ResolvedValue& value : experiment.resolved) {
    const bool of_planner = value.pointer.starts_with("/plan/") && !value.pointer.starts_with("/plan/coordinator") &&
                            value.pointer != "/plan/device_memory";
    if (!of_planner) key += "\n" + value.pointer + " " + value.json;
  }
  for (Plan& plan : plans) plan.planner = plan.why = "";
  return key + "\n" + to_json(PlanFile{.workload = "", .plans = std::move(plans)});
}

// Has what `plans` move encoded, as the experiment says; `group`: the iterations of the program `trace` that they were
// made for, in their order.
std::vector<Plan> encoded(const Experiment& experiment, const trace::Trace& trace, std::span<const Profile> group,
                          std::vector<Plan> plans) {
  const MoveCodec codec{experiment.plan.codec, experiment.plan.ratio, sparsity_of(experiment.plan)};
  if (experiment.plan.codec.empty()) return plans;
  for (Plan& plan : plans) {
    const auto profile = std::ranges::find_if(group, [&](const Profile& p) {
      return p.gpu == plan.gpu && (asks_for_another_program(plan) || p.shape() == plan.iteration);
    });
    if (profile != group.end()) encode_moves(*rewritten_profile(experiment, trace, *profile, plan).graph, codec, plan);
  }
  return plans;
}

enum class Solver { Cbc, None };

class Services final : public PlanServices {
 public:
  Services(const Experiment& experiment, const trace::Trace& trace, PlanningProgress* progress,
           Solver solver = Solver::Cbc)
      : experiment_(experiment), trace_(trace), progress_(progress ? *progress : unseen_), solver_(solver) {}

  std::optional<MipSolution> solve(const MipModel& model, const MipLimits& limits,
                                   const std::vector<std::pair<std::size_t, bool>>& start) override {
    if (solver_ == Solver::None) return std::nullopt;
    const auto waiting = progress_.solve(limits.seconds);
    return solve_with_cbc(model, limits, start);
  }

  std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) override {
    std::vector<Evaluation> evaluations;
    std::vector<std::vector<Plan>> run;
    for (const std::vector<Plan>& plans : sets) run.push_back(encoded(experiment_, trace_, group_, plans));
    const std::vector<Result> results = run_all(run);
    for (std::size_t n = 0; n < sets.size(); ++n) evaluations.push_back(evaluation_of(sets[n], results[n]));
    return evaluations;
  }

  // The plans of the experiment's planner for `group`, which lives as long as they are revised.
  std::vector<Plan> plan(std::span<const Profile> group) {
    group_ = group;
    return encoded(experiment_, trace_, group, experiment_.plan.parameters->plan(group, *this));
  }

  std::optional<Profile> rewritten(const Profile& profile, int sub_batches, const std::vector<std::int32_t>& order,
                                   std::string& why) override {
    try {
      return rewritten_profile(experiment_, trace_, profile,
                               {.gpu = profile.gpu, .sub_batches = sub_batches, .order = order});
    } catch (const UserError& error) {
      why = error.what();
      return std::nullopt;
    }
  }

  // What was seen of iteration `iteration` under `plans`; nullopt: the run did not come so far. One run tells of all
  // iterations until plans change.
  std::optional<Observed> observe(const std::vector<Plan>& plans, std::int32_t iteration) {
    if (!observed_ || observed_plans_ != plans) {
      observed_plans_ = plans;
      observed_ = run_all({&plans, 1}).front();
    }
    const Result& result = *observed_;
    const auto i = static_cast<std::size_t>(iteration);
    Observed seen{.iteration = iteration};
    for (const GpuResult& gpu : result.gpus) {
      if (i >= gpu.iteration_s.size()) return std::nullopt;
      seen.time = std::max(seen.time, from_seconds(gpu.iteration_s[i]));
    }
    seen.actions = costs(plans, result, iteration, 1);
    return seen;
  }

 private:
  // Each in a child process: one after the other where this process is one of several that share work, else as many
  // at a time as there are cores.
  std::vector<Result> run_all(std::span<const std::vector<Plan>> sets) {
    std::vector<Result> done;
    const auto waiting = progress_.simulate(static_cast<int>(sets.size()));
    if (SharedWork::lives()) {
      for (const std::vector<Plan>& plans : sets)
        done.push_back(result_of(
            done_once(simulation_key(experiment_, plans, gpus_with(plans)), [&] { return start(plans)->wait(); })));
      return done;
    }
    const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
    std::deque<std::unique_ptr<ChildProcess>> running;
    const auto wait = [&] {
      done.push_back(result_of(running.front()->wait()));
      running.pop_front();
      progress_.simulation_ended();
    };
    for (const std::vector<Plan>& plans : sets) {
      if (running.size() == at_once) wait();
      running.push_back(start(plans));
    }
    while (!running.empty()) wait();
    return done;
  }

  std::unique_ptr<ChildProcess> start(const std::vector<Plan>& plans) {
    return std::make_unique<ChildProcess>([&] {
      return to_json(run_planned(experiment_, planned_program(experiment_, trace_, plans), plans,
                                 {.progress = progress_.told()}, gpus_with(plans)));
    });
  }

  static Result result_of(const std::string& json) {
    Result none;
    none.outcome = Outcome::Deadlock;
    none.detail = "the child process handed over no result";
    return result_from_json(json).value_or(none);
  }

  static std::vector<GpuIndex> gpus_with(const std::vector<Plan>& plans) {
    std::vector<GpuIndex> gpus;
    for (const Plan& p : plans)
      if (std::ranges::find(gpus, p.gpu) == gpus.end()) gpus.push_back(p.gpu);
    return gpus;
  }

  Evaluation evaluation_of(const std::vector<Plan>& plans, const Result& result) {
    Evaluation e{.outcome = std::string(name_of(result.outcome))};
    if (result.outcome == Outcome::Completed) e.time = from_seconds(result.duration_s);
    if (!result.gpus.empty())
      for (const double s : result.gpus.front().iteration_s) e.iterations.push_back(from_seconds(s));
    for (const MemoryPeak& peak : result.plan.memories) e.peaks.emplace_back(peak.name, peak.bytes);
    e.actions = costs(plans, result, result.warmup_iterations, std::max(1, result.measured_iterations));
    return e;
  }

  // Of `count` iterations from `first` on.
  std::vector<std::vector<ActionCost>> costs(const std::vector<Plan>& plans, const Result& result, std::int32_t first,
                                             std::int32_t count) {
    std::vector<std::vector<ActionCost>> costs;
    for (const Plan& plan : plans) costs.emplace_back(plan.actions.size());
    for (const ActionOutcome& o : result.plan.actions) {
      if (o.iteration < first || o.iteration >= first + count) continue;
      const GpuIndex gpu{o.gpu};
      const std::vector<IterationShape>& shapes =
          shapes_of_device(device_of(experiment_, gpu), plans.front().sub_batches);
      const Plan* plan = plan_for(plans, gpu, shapes.at(static_cast<std::size_t>(o.iteration)), o.iteration);
      if (plan == nullptr) continue;
      ActionCost& cost = costs[static_cast<std::size_t>(plan - plans.data())].at(static_cast<std::size_t>(o.action));
      cost.stall += from_seconds(o.stall_s / count);
      if (o.used) cost.lateness = std::max(cost.lateness, from_seconds(o.lateness_s));
    }
    return costs;
  }

  // Which order kernels have makes no difference.
  const std::vector<IterationShape>& shapes_of_device(DeviceOrdinal device, int sub_batches) {
    std::vector<IterationShape>& shapes = shapes_[{device, sub_batches}];
    const Plan whole{.sub_batches = sub_batches};
    if (shapes.empty())
      for (const IterationRecords& i : iterations_of(planned_program(experiment_, trace_, {&whole, 1}), device))
        shapes.push_back(i.shape);
    return shapes;
  }

  const Experiment& experiment_;
  const trace::Trace& trace_;
  PlanningProgress unseen_;
  PlanningProgress& progress_;
  const Solver solver_;
  std::span<const Profile> group_;  // that is planned for
  std::vector<Plan> observed_plans_;
  std::optional<Result> observed_;  // of the run under these
  std::map<std::pair<DeviceOrdinal, int>, std::vector<IterationShape>> shapes_;
};

// The plans of run-time systems, from one iteration to the next: those of `profiles` that change, each from its first
// iteration on.
std::vector<Plan> revised(const Experiment& experiment, const trace::Trace& trace, const std::vector<Profile>& profiles,
                          std::vector<Plan> plans, Services& services) {
  const Planner& planner = *experiment.plan.parameters;
  if (!planner.revises()) return plans;
  std::vector<Plan> all = plans;
  const std::int32_t iterations = experiment.run.warmup + experiment.run.iterations;
  for (std::int32_t i = 0; i + 1 < iterations; ++i) {
    const std::optional<Observed> seen = services.observe(all, i);
    if (!seen) break;
    std::vector<Plan> next = planner.revise(profiles, plans, *seen, services);
    if (next.empty()) continue;
    for (Plan& plan : next) plan.first_iteration = i + 1;
    next = encoded(experiment, trace, profiles, std::move(next));
    all.insert(all.end(), next.begin(), next.end());
    plans = std::move(next);
  }
  return all;
}

// The shapes of iterations by device, each found once: replicas share theirs.
class Shapes {
 public:
  Shapes(const Experiment& experiment, const trace::Trace& trace) : experiment_(experiment), trace_(trace) {}
  const std::vector<ShapeOfIteration>& of_gpu(GpuIndex gpu) {
    const DeviceOrdinal device = device_of(experiment_, gpu);
    const auto [at, is_new] = by_device_.try_emplace(device);
    if (is_new) at->second = shapes_of(trace_, device);
    return at->second;
  }

 private:
  const Experiment& experiment_;
  const trace::Trace& trace_;
  std::map<DeviceOrdinal, std::vector<ShapeOfIteration>> by_device_;
};

// What managed memory refuses of plans: by why, a place and how often.
class Refusals {
 public:
  void add(const Plan& plan) {
    const std::string gpu = "gpu " + std::to_string(plan.gpu.value);
    for (std::size_t n = 0; n < plan.actions.size(); ++n)
      if (const std::string why = why_not_managed(plan.actions[n]); !why.empty())
        add(why, gpu + " /actions/" + std::to_string(n));
    if (!plan.variants.empty()) add("no call of managed memory changes how a kernel runs", gpu + " /variants");
  }
  bool any() const { return !refused_.empty(); }
  std::string why() const {
    std::string text;
    for (const auto& [why, of] : refused_) text += (text.empty() ? "" : "; ") + why;
    return text;
  }
  std::vector<InputError> errors() const {
    std::vector<InputError> errors;
    for (const auto& [why, of] : refused_)
      errors.push_back({of.place, why + (of.more > 0 ? " (and " + std::to_string(of.more) + " more likewise)" : "") +
                                      "; set workload.memory to device"});
    return errors;
  }

 private:
  struct Refused {
    std::string place;      // the first
    std::int64_t more = 0;  // after it
  };
  void add(const std::string& why, std::string place) {
    const auto [at, is_new] = refused_.try_emplace(why, Refused{.place = std::move(place)});
    if (!is_new) ++at->second.more;
  }

  std::map<std::string, Refused> refused_;
};

std::vector<std::vector<Profile>> profiles_of(const Experiment& experiment, const trace::Trace& trace, Shapes& shapes) {
  std::vector<std::vector<Profile>> groups;
  for (const GpuIndex gpu : gpus_of(experiment, trace)) {
    const ProfileSetting setting = setting_of(experiment, gpu);
    for (const ShapeOfIteration& shape : shapes.of_gpu(gpu)) {
      if (shape.iteration < experiment.run.warmup || shape.graph->kernels.empty()) continue;
      const auto group =
          std::ranges::find_if(groups, [&](const auto& g) { return g[0].shape() == shape.graph->shape; });
      std::vector<Profile>& profiles = group == groups.end() ? groups.emplace_back() : *group;
      profiles.push_back(profile_of(shape, gpu, setting));
    }
  }
  if (groups.empty()) throw UserError(experiment.name, "there is nothing to plan: no iteration has a kernel");
  return groups;
}

void check_plans(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans,
                 Shapes& shapes) {
  std::vector<InputError> errors;
  Refusals refusals;
  bool any = plans.empty();
  for (const Plan& plan : plans) {
    for (const ShapeOfIteration& shape : shapes.of_gpu(plan.gpu)) {
      if (shape.graph->shape != plan.iteration) continue;
      any |= shape.iteration >= experiment.run.warmup;
      if (experiment.workload.placement.memory != "device") refusals.add(plan);
      std::ranges::move(check_plan(*shape.graph, plan, limits_of(experiment, plan.gpu)).errors,
                        std::back_inserter(errors));
    }
  }
  if (refusals.any()) {
    std::vector<InputError> all = refusals.errors();
    std::ranges::move(errors, std::back_inserter(all));
    throw NotForManagedMemory(refusals.why(), std::move(all));
  }
  if (!errors.empty()) throw UserError("the plan cannot be executed", std::move(errors));
  if (!any)
    throw UserError("the plan does not fit the workload",
                    "no measured iteration of " + trace.header.name + " has the kernels and allocations it is for");
}

}  // namespace

std::vector<std::vector<Profile>> profiles_of(const Experiment& experiment, const trace::Trace& trace) {
  Shapes shapes(experiment, trace);
  return profiles_of(experiment, trace, shapes);
}

PlanLimits limits_of(const Experiment& experiment, GpuIndex gpu) {
  if (experiment.workload.placement.memory != "device") return {};
  const Machine& machine = experiment.machine;
  PlanLimits limits{.device = machine.gpus[gpu].usable_memory.value};
  for (const MemoryNode& node : machine.memories) limits.nodes[node.name] = node.capacity.value;
  limits.nearest = machine.memories[static_cast<std::size_t>(nearest_dram(machine, gpu))].name;
  return limits;
}

namespace {

void require_planner(const Experiment& experiment) {
  if (experiment.plan.parameters == nullptr)
    throw UserError(experiment.name, {{"/plan", R"(missing; expected an object such as {"planner": "lms_like"})"}});
  if (!experiment.plan.codec.empty() && experiment.workload.placement.memory != "device")
    throw UserError(experiment.name, {{"/plan/codec",
                                       "the driver encodes nothing that it migrates; set "
                                       "workload.memory to device, or no codec"}});
}

// A codec that takes nothing of what the planner moves is a mistake.
void check_codec(const Experiment& experiment, const trace::Trace& trace, std::span<const Profile> group,
                 const std::vector<Plan>& plans) {
  if (experiment.plan.codec.empty()) return;
  const auto codec = codecs().find(experiment.plan.codec)->make();
  std::set<std::string> refused;
  for (std::size_t n = 0; n < plans.size(); ++n) {
    const Profile profile = rewritten_profile(experiment, trace, group[n], plans[n]);
    for (const Action& action : plans[n].actions) {
      const auto* move = std::get_if<Move>(&action);
      if (move == nullptr) continue;
      const std::string kind = kind_of(*profile.graph, move->of.tensor);
      if (codec->allows({.kind = kind, .bytes = Bytes{move->of.bytes}})) return;
      refused.insert(kind);
    }
  }
  if (!refused.empty())
    throw UserError(experiment.name, {{"/plan/codec", experiment.plan.codec + " takes none of the tensors that " +
                                                          experiment.plan.planner + " moves, which are of kind " +
                                                          joined({refused.begin(), refused.end()})}});
}

}  // namespace

bool plans_fit(const Experiment& experiment, const trace::Trace& trace) {
  require_planner(experiment);
  Services services(experiment, trace, nullptr, Solver::None);
  for (const std::vector<Profile>& group : profiles_of(experiment, trace)) {
    const std::vector<Plan> plans = services.plan(group);
    for (std::size_t n = 0; n < plans.size(); ++n) {
      if (!plans[n].feasible) return false;
      const Profile profile = rewritten_profile(experiment, trace, group[n], plans[n]);
      if (!check_plan(*profile.graph, plans[n], limits_of(experiment, profile.gpu)).errors.empty()) return false;
    }
  }
  return true;
}

PlanFile make_plans(const Experiment& experiment, const trace::Trace& trace, PlanningProgress* progress) {
  require_planner(experiment);
  PlanFile file{.workload = trace.header.name, .plans = {}};
  Services services(experiment, trace, progress);
  Shapes shapes(experiment, trace);
  for (const std::vector<Profile>& group : profiles_of(experiment, trace, shapes)) {
    std::vector<Plan> plans = services.plan(group);
    check_codec(experiment, trace, group, plans);
    std::ranges::move(revised(experiment, trace, group, std::move(plans), services), std::back_inserter(file.plans));
  }
  std::ranges::stable_sort(file.plans, {},
                           [](const Plan& p) { return std::tuple(p.gpu, p.iteration, p.first_iteration); });
  if (std::ranges::any_of(file.plans, asks_for_another_program))
    check_plans(experiment, trace, file.plans);
  else
    check_plans(experiment, trace, file.plans, shapes);
  return file;
}

void check_plans(const Experiment& experiment, const trace::Trace& trace, const std::vector<Plan>& plans) {
  const trace::Trace program = planned_program(experiment, trace, plans);
  Shapes shapes(experiment, program);
  check_plans(experiment, program, plans, shapes);
}

std::string planned_result(const Experiment& experiment, const trace::Trace& trace) {
  std::vector<Plan> plans;
  try {
    plans = make_plans(experiment, trace).plans;
  } catch (const NotForManagedMemory& error) {
    Result result;
    result.outcome = Outcome::NotManaged;
    result.detail = error.why();
    return to_json(result);
  }
  return done_once(simulation_key(experiment, plans, gpus_of(experiment, trace)), [&] {
    return to_json(
        run_planned(experiment, planned_program(experiment, trace, plans), plans, {.progress = told_share()}));
  });
}

}  // namespace uvmsim
