#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "plan/planners/reuse_distance.h"
#include "plan/planners/swap_mip.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

constexpr double kMiB = 1 << 20;

struct AutoTmOptions {
  std::string mode = "asynchronous";
  std::string to;
  int window = 15;
  int slots = 60;
  double spare = 0.25;
  int packings = 2;
  std::int64_t nodes = 1000;
  Duration time_limit = from_seconds(120);
  double gap = 0.01;
  double budget = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = AutoTmOptions;
    static const Description d =
        Describe<O>("moves chosen by an integer program, each alongside one kernel")
            .text("mode", &O::mode,
                  "static: a tensor leaves whenever it is idle, or never; synchronous: it may, between kernels; "
                  "asynchronous: it may, alongside kernels near its uses",
                  {"static", "synchronous", "asynchronous"})
            .text("to", &O::to, "memory node to which tensors go; \"\": the nearest host memory")
            .integer("window", &O::window, "slots after or before a use in which a copy may run", {1, 1000})
            .integer("slots", &O::slots, "kernels are merged into at most this many (assumed)", {2, 1000})
            .number("spare", &O::spare,
                    "intervals to choose from, by reuse distance: those that a heuristic would take if this share more "
                    "were over budget (assumed)",
                    {0, {}})
            .integer("packings", &O::packings,
                     "how often the program is solved again for less memory because first fit, in the order of "
                     "allocation, needs more than there is",
                     {0, 10})
            .integer("nodes", &O::nodes, "limit of the solver's search, each time (assumed)", {1, 1'000'000'000})
            .duration("time_limit", &O::time_limit,
                      "limit of the solver's processor time, should its nodes take longer; a plan that it cuts short "
                      "depends on the machine")
            .number("gap", &O::gap,
                    "relative distance to the bound at which the solver may stop (darchr/AutoTM, formulation.jl)",
                    {0, 1})
            .number("budget", &O::budget, "share of device memory to fit into (assumed)", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// Of an interval, when its copies run: during a slot, or between kernels.
struct Timing {
  static constexpr std::int32_t kBetween = -1;
  std::size_t interval = 0;
  std::int32_t out = kBetween, in = kBetween;  // slots
};

// min sum over slots of max(kernels, copies out during them, copies in during them) + copies between kernels
class MoveProgram {
 public:
  MoveProgram(const SwapProblem& problem, const Profile& profile, const AutoTmOptions& options)
      : problem_(problem), options_(options) {
    const std::size_t slots = problem.duration.size();
    relief_.resize(slots);
    beside_out_.resize(slots);
    beside_in_.resize(slots);
    for (std::size_t i = 0; i < problem.intervals.size(); ++i) add(i);
    for (std::size_t k = 0; k < slots; ++k) add_slot(k);
    if (options.mode == "static") tie(profile);
  }

  const MipModel& model() const { return model_; }
  bool may_be_feasible() const { return may_be_feasible_; }
  std::size_t chosen(std::size_t interval) const { return chosen_[interval]; }

  std::vector<Timing> timings(const MipSolution& solution) const {
    std::vector<Timing> timings;
    const auto slot_in = [&](const std::vector<Place>& places) {
      const auto place =
          std::ranges::find_if(places, [&](const Place& p) { return solution.values[p.variable] >= 0.5; });
      return place == places.end() ? Timing::kBetween : place->slot;
    };
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (solution.values[chosen_[i]] < 0.5) continue;
      const Timing t{i, slot_in(outs_[i]), slot_in(ins_[i])};
      if (t.out < 0 || t.in < 0 || t.out < t.in) timings.push_back(t);
    }
    return timings;
  }

 private:
  using Terms = std::vector<std::pair<std::size_t, double>>;
  struct Place {
    std::int32_t slot = Timing::kBetween;
    std::size_t variable = 0;
  };

  void add(std::size_t i) {
    const SlotInterval& v = problem_.intervals[i];
    const bool beside = options_.mode == "asynchronous";
    const std::size_t x = model_.add_variable("x_" + std::to_string(i), true, beside ? 0 : v.out + v.in);
    chosen_.push_back(x);
    outs_.emplace_back();
    ins_.emplace_back();
    if (!beside) {
      for (std::int32_t k = v.last_use + 1; k < v.next_use; ++k) relieve(k, x, v.size);
      return;
    }
    const std::int32_t first_in = std::max(v.last_use + 1, v.next_use - options_.window);
    const std::int32_t last_out = std::min(v.next_use - 1, v.last_use + options_.window);
    const std::string name = std::to_string(i) + "_";
    const std::size_t out = model_.add_variable("o_" + name + "b", true, v.out);
    const std::size_t in = model_.add_variable("q_" + name + "b", true, v.in);
    outs_[i].push_back({Timing::kBetween, out});
    ins_[i].push_back({Timing::kBetween, in});
    for (std::int32_t s = v.last_use + 1; s <= last_out; ++s) {
      outs_[i].push_back({s, model_.add_variable("o_" + name + std::to_string(s), true)});
      beside_out_[static_cast<std::size_t>(s)].emplace_back(outs_[i].back().variable, v.out);
    }
    for (std::int32_t s = first_in; s < v.next_use; ++s) {
      ins_[i].push_back({s, model_.add_variable("q_" + name + std::to_string(s), true)});
      beside_in_[static_cast<std::size_t>(s)].emplace_back(ins_[i].back().variable, v.in);
    }
    for (const auto* places : {&outs_[i], &ins_[i]}) equal_to_sum(x, *places);
    for (std::int32_t k = v.last_use + 1; k < v.next_use; ++k) {
      for (const Place& o : outs_[i])
        if (o.slot < k) relieve(k, o.variable, v.size);
      for (const Place& q : ins_[i])
        if (q.slot >= 0 && q.slot <= k) relieve(k, q.variable, -v.size);
    }
  }

  void equal_to_sum(std::size_t x, const std::vector<Place>& places) {
    Terms more = {{x, -1}}, less = {{x, 1}};
    for (const Place& p : places) {
      more.emplace_back(p.variable, 1);
      less.emplace_back(p.variable, -1);
    }
    model_.add_row(std::move(more), 0);
    model_.add_row(std::move(less), 0);
  }

  void relieve(std::int32_t slot, std::size_t variable, double mebibytes) {
    const auto k = static_cast<std::size_t>(slot);
    if (problem_.load[k] > problem_.budget) relief_[k].emplace_back(variable, mebibytes);
  }

  void add_slot(std::size_t k) {
    const std::size_t t = model_.add_variable("t_" + std::to_string(k), false, 1);
    model_.add_row({{t, 1}}, problem_.duration[k]);
    for (const Terms* copies : {&beside_out_[k], &beside_in_[k]}) {
      if (copies->empty()) continue;
      Terms row = {{t, 1}};
      for (const auto& [variable, time] : *copies) row.emplace_back(variable, -time);
      model_.add_row(std::move(row), 0);
    }
    const double missing = problem_.load[k] - problem_.budget;
    if (missing <= 0) return;
    double most = 0;
    for (const SlotInterval& v : problem_.intervals)
      if (v.last_use < static_cast<std::int32_t>(k) && static_cast<std::int32_t>(k) < v.next_use) most += v.size;
    may_be_feasible_ = may_be_feasible_ && most >= missing;
    if (!relief_[k].empty()) model_.add_row(relief_[k], missing);
  }

  // One decision for all intervals of a tensor.
  void tie(const Profile& profile) {
    std::map<std::int32_t, std::size_t> known;  // by tensor, of one of its intervals
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const std::int32_t tensor = profile.intervals[problem_.intervals[i].members[0]].tensor;
      const auto [first, is_new] = known.try_emplace(tensor, chosen_[i]);
      if (is_new) continue;
      model_.add_row({{chosen_[i], 1}, {first->second, -1}}, 0);
      model_.add_row({{chosen_[i], -1}, {first->second, 1}}, 0);
    }
  }

  const SwapProblem& problem_;
  const AutoTmOptions& options_;
  MipModel model_;
  bool may_be_feasible_ = true;
  std::vector<std::size_t> chosen_;                     // variables, by interval
  std::vector<std::vector<Place>> outs_, ins_;          // by interval
  std::vector<Terms> relief_, beside_out_, beside_in_;  // by slot
};

// Each member of a merged interval alone.
void unmerge(const Profile& profile, SwapProblem& problem) {
  std::vector<SlotInterval> alone;
  for (const SlotInterval& v : problem.intervals)
    for (const std::size_t n : v.members) {
      const std::int64_t bytes = profile.intervals[n].bytes;
      alone.push_back({.last_use = v.last_use,
                       .next_use = v.next_use,
                       .size = static_cast<double>(bytes) / kMiB,
                       .out = seconds(profile.links.out_time(bytes)) * 1e3,
                       .in = seconds(profile.links.in_time(bytes)) * 1e3,
                       .members = {n}});
    }
  problem.intervals = std::move(alone);
}

// Bytes of addresses that tensors need under a plan when each takes the lowest that are free, kernel by kernel, anew
// each time that it comes back. Tensors below `min_bytes` lie apart.
std::int64_t packed_bytes(const Profile& profile, const Plan& plan, std::int64_t min_bytes) {
  const IterationGraph& graph = *profile.graph;
  const auto kernels = static_cast<std::size_t>(graph.shape.kernels);
  std::vector<std::vector<std::int32_t>> come(kernels + 1), go(kernels + 1);
  LoadCurve small(graph.load);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const GraphTensor& tensor = graph.tensors[t];
    if (tensor.bytes < min_bytes) continue;
    small.add(tensor.first, tensor.outer, -tensor.bytes);
    come[static_cast<std::size_t>(tensor.first)].push_back(static_cast<std::int32_t>(t));
    go[static_cast<std::size_t>(tensor.outer)].push_back(static_cast<std::int32_t>(t));
  }
  for (const Action& action : plan.actions)
    for (const TensorInterval& i : intervals_of(action)) {
      if (i.bytes < min_bytes || i.wraps()) continue;
      go[static_cast<std::size_t>(i.last_use + 1)].push_back(i.tensor);
      come[static_cast<std::size_t>(i.next_use)].push_back(i.tensor);
    }
  std::map<std::int64_t, std::int64_t> blocks;  // address to end, of those in use
  std::vector<std::int64_t> address(graph.tensors.size(), -1);
  std::int64_t height = 0;
  for (std::size_t k = 0; k < kernels; ++k) {
    for (const std::int32_t t : go[k]) {
      blocks.erase(address[static_cast<std::size_t>(t)]);
      address[static_cast<std::size_t>(t)] = -1;
    }
    for (const std::int32_t t : come[k]) {
      const std::int64_t bytes = graph.tensors[static_cast<std::size_t>(t)].bytes;
      std::int64_t at = 0;
      for (const auto& [begin, end] : blocks) {
        if (begin - at >= bytes) break;
        at = end;
      }
      blocks[at] = at + bytes;
      address[static_cast<std::size_t>(t)] = at;
      height = std::max(height, at + bytes);
    }
  }
  return height + std::max<std::int64_t>(small.most(), 0);
}

// An integer program over the tensors' intervals: which leave, and during which kernel each copy runs, near the uses at
// its ends. A kernel takes as long as itself or the copies during it in one direction, whichever is longest; copies
// between kernels add up. If what the plan leaves does not fit once it has addresses, the program is solved again for
// less memory. Kernels are merged into slots, so that the solver can cope, and a window counts slots.
//
// The paper's kernels may work on slow memory in place; a GPU's operands have to be in its own (as in the paper's GPU
// part). A tensor's copy elsewhere outlives its return while it is only read, as in the paper, where it is written
// once; the program counts each leave, so that it is on the safe side. The choice among algorithms of a convolution is
// left out. Without a solver, or a solution, the plan is that of tmo_like_online. On hardware: nGraph with the plan in
// the paper; any runtime that copies at given kernels.
class AutoTm final : public With<Planner, AutoTmOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) {
      Profile own = profile;  // with the link to where tensors go
      own.links = link_to(profile, options_.to);
      const bool known =
          options_.to.empty() || std::ranges::find(profile.nodes, options_.to, &NodeLink::name) != profile.nodes.end();
      Plan plan = known ? plan_of(own, services) : empty_plan(profile, "autotm");
      if (!known) plan.why = "the machine has no memory node \"" + options_.to + "\"";
      keep_copies(own, gpus.size(), plan);
      sort_by_use(own, plan);
      conclude(own, gpus.size(), plan);
      plan.feasible = plan.feasible && known;
      plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  ReuseDistanceOptions simple() const {
    return {.scope = "all", .min_bytes = options_.min_bytes, .budget = options_.budget};
  }

  Plan heuristic(const Profile& profile, const std::vector<std::size_t>& order, const std::string& why) const {
    Plan plan = reuse_distance_plan(profile, order, simple(), "autotm");
    for (Action& action : plan.actions)
      if (auto* m = std::get_if<Move>(&action)) m->to = options_.to;
    plan.why = "the online heuristic's, because " + why + ": " + plan.why;
    return plan;
  }

  Plan plan_of(const Profile& profile, PlanServices& services) const {
    const std::vector<std::size_t> order = candidates(profile, simple());
    const double budget = options_.budget * static_cast<double>(profile.budget.value);
    if (static_cast<double>(profile.peak()) <= budget) return heuristic(profile, order, "the iteration fits");
    double room = budget;
    Plan best;
    for (int round = 0;; ++round) {
      std::string why;
      Plan plan = solved(profile, order, room, services, why);
      if (!why.empty()) return round == 0 ? heuristic(profile, order, why) : best;
      const double packed = static_cast<double>(packed_bytes(profile, plan, options_.min_bytes.value));
      plan.why += "; packed into " + bytes_text(packed);
      best = std::move(plan);
      if (packed <= static_cast<double>(profile.budget.value) || round == options_.packings) return best;
      room -= packed - static_cast<double>(profile.budget.value);
    }
  }

  // The program's plan for `room` bytes; `why`: why there is none.
  Plan solved(const Profile& profile, const std::vector<std::size_t>& order, double room, PlanServices& services,
              std::string& why) const {
    const double over = static_cast<double>(profile.peak()) - room;
    const std::vector<std::size_t> some =
        choose(profile, order, static_cast<std::int64_t>(room - options_.spare * over), true);
    SwapProblem problem = swap_problem(profile, some, static_cast<std::size_t>(options_.slots), room);
    if (options_.mode == "static") unmerge(profile, problem);
    const MoveProgram program(problem, profile, options_);
    if (!program.may_be_feasible()) {
      why = "no set of these intervals fits the budget in the program";
      return {};
    }
    const std::vector<std::size_t> first = choose(profile, order, static_cast<std::int64_t>(room), true);
    std::vector<std::pair<std::size_t, bool>> start;
    for (std::size_t i = 0; i < problem.intervals.size(); ++i)
      start.emplace_back(program.chosen(i), std::ranges::any_of(problem.intervals[i].members, [&](std::size_t n) {
                           return std::ranges::find(first, n) != first.end();
                         }));
    const auto solution =
        services.solve(program.model(), {options_.nodes, seconds(options_.time_limit), options_.gap}, start);
    if (!solution) why = "there is no solver: install coinor-cbc";
    if (solution && solution->values.empty()) why = text_of(*solution);
    if (!why.empty()) return {};
    Plan plan = empty_plan(profile, "autotm");
    plan.why = text_of(*solution) + " for " + std::to_string(program.model().binaries()) + " binaries, " +
               seconds_text(from_seconds(solution->objective * 1e-3)) + " by the program";
    for (const Timing& t : program.timings(*solution)) add_moves(profile, problem, t, plan);
    return plan;
  }

  void add_moves(const Profile& profile, const SwapProblem& problem, const Timing& t, Plan& plan) const {
    const auto begin_of = [&](std::int32_t slot) {
      return Trigger{Trigger::On::AfterKernel, problem.last_kernel[static_cast<std::size_t>(slot) - 1]};
    };
    for (const std::size_t n : problem.intervals[t.interval].members) {
      const Interval& i = profile.intervals[n];
      Move move{.of = of_interval(i),
                .to = options_.to,
                .out = {{Trigger::On::AfterKernel, i.last_use}, Sync::Host},
                .in = {{Trigger::On::BeforeKernel, i.next_use}, Sync::Host}};
      if (t.out >= 0) move.out = {begin_of(t.out)};
      if (t.in >= 0) move.in = {begin_of(t.in)};
      plan.actions.push_back(std::move(move));
    }
  }
};

const bool kRegistered = add_plug_in<Planner, AutoTm>(
    {.name = "autotm",
     .summary = "an integer program chooses which tensors leave, and alongside which kernel each copy runs",
     .source =
         "Hildebrand et al., AutoTM: Automatic Tensor Movement in Heterogeneous Memory Systems using Integer Linear "
         "Programming, ASPLOS 2020, sections 4 and 5; darchr/AutoTM",
     .on_hardware =
         "a compiler that puts copies into its graph (the paper: nGraph), and Optane or pinned host memory"});

}  // namespace
}  // namespace uvmsim
