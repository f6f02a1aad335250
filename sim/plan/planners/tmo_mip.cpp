#include <algorithm>

#include "base/number_text.h"
#include "plan/planners/reuse_distance.h"
#include "plan/planners/swap_mip.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct MipOptions {
  int slots = 40;
  double spare = 0.5;
  std::int64_t nodes = 1000;
  Duration time_limit = from_seconds(120);
  double gap = 0.01;
  Bytes min_bytes{1 << 20};
  double budget = 0.95;
  bool forward_backward = true;
  bool verify = true;
};

template <class Options>
Describe<Options> describe_mip(std::string doc) {
  using O = MipOptions;
  return Describe<Options>(std::move(doc))
      .integer("slots", &O::slots, "kernels are merged into at most this many", {2, 1000})
      .number("spare", &O::spare,
              "intervals to choose from, by reuse distance: those that the heuristic would take if this share more "
              "were over budget (assumed)",
              {0, {}})
      .integer("nodes", &O::nodes, "limit of the solver's search, each time (assumed)", {1, 1'000'000'000})
      .duration("time_limit", &O::time_limit,
                "limit of the solver's processor time, should its nodes take longer; a plan that it cuts short depends "
                "on the machine")
      .number("gap", &O::gap,
              "relative distance to the bound at which the solver may stop (darchr/AutoTM, formulation.jl)", {0, 1})
      .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
      .number("budget", &O::budget, "share of device memory to fit into (assumed)", {0, 1})
      .flag("forward_backward", &O::forward_backward, "only intervals from the forward to the backward pass")
      .flag(
          "verify", &O::verify,
          "simulate the plan, its choice with copies in as late as they can, and the online heuristic's, and take the "
          "fastest");
}

ReuseDistanceOptions heuristic_options(const MipOptions& o) {
  return {.scope = o.forward_backward ? "forward_backward" : "all", .min_bytes = o.min_bytes, .budget = o.budget};
}

// The plan of what a solution chose. Dead intervals are dropped whatever it chose.
Plan plan_of(const Profile& profile, const SwapProblem& problem, const std::vector<SwapModel::Choice>& choices,
             const std::string& planner) {
  Plan plan = empty_plan(profile, planner);
  for (const SwapModel::Choice& c : choices)
    for (const std::size_t n : problem.intervals[c.interval].members) {
      const Interval& i = profile.intervals[n];
      const std::int32_t back = problem.last_kernel[static_cast<std::size_t>(c.after_slot)];
      const bool at_once = c.after_slot == problem.intervals[c.interval].last_use;
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .out = {{Trigger::On::AfterKernel, i.last_use}},
                                  .in = {{Trigger::On::AfterKernel, at_once ? i.last_use : back}}});
    }
  finish(profile, plan);
  return plan;
}

// The intervals that a solution chose, timed as the heuristic's are. The program knows kernels only by slots, so that
// its copies in start where a slot ends: up to a slot late.
Plan retimed(const Profile& profile, const SwapProblem& problem, const std::vector<SwapModel::Choice>& choices,
             const std::string& planner) {
  Plan plan = empty_plan(profile, planner);
  std::vector<std::size_t> chosen;
  for (const SwapModel::Choice& c : choices)
    chosen.insert(chosen.end(), problem.intervals[c.interval].members.begin(),
                  problem.intervals[c.interval].members.end());
  swap_intervals(profile, chosen, 0, plan);
  finish(profile, plan);
  return plan;
}

std::string why_of(const MipSolution& solution, const MipModel& model) {
  return text_of(solution) + " for " + std::to_string(model.binaries()) +
         " binaries: " + seconds_text(from_seconds(solution.objective * 1e-3)) + " an iteration in the model";
}

// What the three planners have in common: solve for a group of GPUs, then see that it is no worse than the heuristic.
std::vector<Plan> plan_group(std::span<const Profile> gpus, const MipOptions& options, const SwapCoupling& coupling,
                             const std::string& planner, PlanServices& services) {
  const ReuseDistanceOptions simple = heuristic_options(options);
  std::vector<SwapProblem> problems;
  std::vector<Plan> alone;  // as tmo_like_online plans
  std::vector<std::vector<std::size_t>> orders;
  for (const Profile& profile : gpus) {
    const std::vector<std::size_t>& order = orders.emplace_back(candidates(profile, simple));
    const double budget = options.budget * static_cast<double>(profile.budget.value);
    const double over = static_cast<double>(profile.peak()) - budget;
    // Disjoint sets take as many times the intervals as there are GPUs.
    const double share = coupling.enforce ? (1 + options.spare) * static_cast<double>(gpus.size()) : 1 + options.spare;
    const auto some = choose(profile, order, static_cast<std::int64_t>(budget - (share - 1) * over), true);
    problems.push_back(swap_problem(profile, some, static_cast<std::size_t>(options.slots), budget));
    alone.push_back(reuse_distance_plan(profile, order, simple, planner));
  }
  if (coupling.enforce) orders = disjoint_orders(gpus, simple);
  std::vector<Plan> fallback;
  for (std::size_t g = 0; g < gpus.size(); ++g)
    fallback.push_back(reuse_distance_plan(gpus[g], orders[g], simple, planner));
  const auto fall_back = [&](const std::string& why) {
    for (Plan& plan : fallback) plan.why = "the online heuristic's, because " + why + ": " + plan.why;
    return fallback;
  };
  const auto peaks = [](const Profile& p) { return p.peak(); };
  const bool fits = std::ranges::all_of(gpus, [&](const Profile& p) {
    return static_cast<double>(peaks(p)) <= options.budget * static_cast<double>(p.budget.value);
  });
  if (fits) return fall_back("the iteration fits");
  const SwapModel swap(problems, coupling);
  if (!swap.may_be_feasible()) return fall_back("no set of these intervals fits the budget in the model");

  std::vector<std::pair<std::size_t, bool>> start;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const std::vector<std::size_t> chosen = choose(
        gpus[g], orders[g], static_cast<std::int64_t>(options.budget * static_cast<double>(gpus[g].budget.value)),
        simple.skip_useless);
    for (std::size_t i = 0; i < problems[g].intervals.size(); ++i)
      start.emplace_back(swap.swapped(g, i), std::ranges::any_of(problems[g].intervals[i].members, [&](std::size_t n) {
                           return std::ranges::find(chosen, n) != chosen.end();
                         }));
  }
  const auto solution = services.solve(swap.model(), {options.nodes, seconds(options.time_limit), options.gap}, start);
  if (!solution) return fall_back("there is no solver: install coinor-cbc");
  if (solution->values.empty()) return fall_back(text_of(*solution));
  std::vector<Plan> plans, late;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const std::vector<SwapModel::Choice> choices = swap.choices(g, *solution);
    plans.push_back(plan_of(gpus[g], problems[g], choices, planner));
    late.push_back(retimed(gpus[g], problems[g], choices, planner));
    plans.back().why = why_of(*solution, swap.model());
    late.back().why = plans.back().why + "; its choice, with copies in as late as they can";
  }
  if (!options.verify) return plans;
  std::vector<std::vector<Plan>> sets = {plans, late, fallback};
  if (coupling.enforce) sets.push_back(alone);
  const std::vector<Evaluation> found = services.evaluate(sets);
  const bool later = found[1].time < found[0].time;
  const Duration mine = later ? found[1].time : found[0].time, simple_time = found[2].time;
  if (later) plans = std::move(late);
  if (coupling.enforce)
    for (std::vector<Plan>* set : {&plans, &fallback})
      for (Plan& plan : *set) plan.why += "; " + with_and_without(std::min(mine, simple_time), found[3].time);
  if (mine > simple_time)
    return fall_back("it is faster in the simulation, " + seconds_text(simple_time) + " against " +
                     (mine == kNever ? "none" : seconds_text(mine)) + "; the program's was " + plans[0].why);
  return plans;
}

bool alike(const Profile& a, const Profile& b) {
  return a.shape() == b.shape() && a.budget == b.budget && a.links.in == b.links.in && a.links.out == b.links.out &&
         a.graph->load == b.graph->load;
}

// Plans groups of `size` GPUs one after the other; a group like the one before it gets the same plans.
std::vector<Plan> plan_groups(std::span<const Profile> gpus, std::size_t size, const MipOptions& options,
                              const SwapCoupling& coupling, const std::string& planner, PlanServices& services) {
  std::vector<Plan> plans;
  for (std::size_t first = 0; first < gpus.size(); first += size) {
    const std::span<const Profile> group = gpus.subspan(first, std::min(size, gpus.size() - first));
    bool same = first >= size && group.size() == size;
    for (std::size_t g = 0; same && g < size; ++g) same = alike(group[g], gpus[first - size + g]);
    std::vector<Plan> next;
    if (same)
      next.assign(plans.end() - static_cast<std::ptrdiff_t>(size), plans.end());
    else
      next = plan_group(group, options, coupling, planner, services);
    for (std::size_t g = 0; g < group.size(); ++g) next[g].gpu = group[g].gpu;
    plans.insert(plans.end(), next.begin(), next.end());
  }
  return plans;
}

struct AloneOptions : MipOptions {
  static const Description& description() {
    static const Description d = describe_mip<AloneOptions>("swapping by a mixed-integer program").build();
    return d;
  }
};

template <class Options>
Describe<Options> describe_group() {
  return describe_mip<Options>("swapping by a mixed-integer program for GPUs that share a link")
      .integer("group", &Options::group, "neighbouring GPUs in one program", {1, 8}, "GPUs");
}

struct JointOptions : MipOptions {
  int group = 2;

  static const Description& description() {
    static const Description d = describe_group<JointOptions>().build();
    return d;
  }
};

struct DisjointOptions : MipOptions {
  int group = 2;
  double penalty = 0.05;
  bool enforce = false;

  static const Description& description() {
    static const Description d =
        describe_group<DisjointOptions>()
            .number("penalty", &DisjointOptions::penalty,
                    "for each interval that two GPUs swap, in ms: soft disjointness", {0, {}}, "ms")
            .flag("enforce", &DisjointOptions::enforce,
                  "no two GPUs swap the same interval; the plan says what an iteration takes with disjoint sets and "
                  "with tmo_like_online's")
            .build();
    return d;
  }
};

class TmoLikeMip final : public With<Planner, AloneOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    return plan_groups(gpus, 1, options_, {}, "tmo_like_mip", services);
  }
};

class TmoLikeDisjointMip final : public With<Planner, DisjointOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans =
        plan_groups(gpus, static_cast<std::size_t>(options_.group), options_,
                    {.shared_link = true, .disjoint = true, .penalty = options_.penalty, .enforce = options_.enforce},
                    "tmo_like_disjoint_mip", services);
    say_what_is_common(plans);
    return plans;
  }
};

class TmoLikeJointMip final : public With<Planner, JointOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    return plan_groups(gpus, static_cast<std::size_t>(options_.group), options_, {.shared_link = true},
                       "tmo_like_joint_mip", services);
  }
};

const char* const kSource =
    "reconstruction of Lin et al., Tensor Movement Orchestration in Multi-GPU Training Systems, HPCA 2023, from its "
    "abstract and an outline; solved by CBC";
const bool kMip = add_plug_in<Planner, TmoLikeMip>(
    {.name = "tmo_like_mip",
     .summary = "swaps chosen and timed offline by a mixed-integer program, for each GPU alone",
     .source = kSource,
     .on_hardware = kReplaysCopies});
const bool kDisjoint = add_plug_in<Planner, TmoLikeDisjointMip>(
    {.name = "tmo_like_disjoint_mip",
     .summary = "as tmo_like_mip, but for all GPUs on one link, which swap different tensors as far as they can",
     .source = kSource,
     .on_hardware = kReplaysCopies});
const bool kJoint = add_plug_in<Planner, TmoLikeJointMip>(
    {.name = "tmo_like_joint_mip",
     .summary = "as tmo_like_disjoint_mip, with no cost for swapping the same tensors: the most that coordination can "
                "gain in the model",
     .source = kSource,
     .on_hardware = kReplaysCopies});

}  // namespace
}  // namespace uvmsim
