#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "plan/feature_maps.h"
#include "plan/planners/checkmate_model.h"
#include "plan/recomputation.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

constexpr double kMiB = 1 << 20;

struct CheckmateOptions {
  int groups = 24;
  Duration time_limit = from_seconds(30);
  double gap = 0.01;
  std::string method = "optimal";
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = CheckmateOptions;
    static const Description d =
        Describe<O>("optimal recomputation as an integer program")
            .integer("groups", &O::groups,
                     "groups of layers of the forward pass, at most, that make as many bytes each: the program has "
                     "four times the square of it in binaries (assumed)",
                     {2, 200})
            .duration("time_limit", &O::time_limit, "of the solver; what a limit ends depends on the machine's speed")
            .number("gap", &O::gap, "relative distance to the bound at which the solver may stop", {0, 1})
            .text("method", &O::method, "the integer program, or its relaxation, rounded at 0.1, 0.2, ... 0.9",
                  {"optimal", "rounding"})
            .bytes("min_bytes", &O::min_bytes, "smaller results stay (assumed)")
            .build();
    return d;
  }
};

// Results of one group of layers.
struct Group {
  std::int32_t first = 0, outer = 0;     // kernels of the forward pass
  std::vector<std::size_t> intervals{};  // from the forward into the backward pass, of what they make
  std::vector<std::int32_t> kernels{};   // that make it again
  std::set<std::int32_t> tensors{};
};

// The iteration as the program sees it. A stage of the backward pass begins where a group is needed first.
class Problem {
 public:
  Problem(const Profile& profile, const Lineage& lineage, const CheckmateOptions& options)
      : profile_(profile), graph_(*profile.graph), lineage_(lineage) {
    std::vector<std::size_t> intervals = recomputable(profile, lineage, options.min_bytes);
    std::erase_if(intervals, [&](std::size_t n) { return profile.intervals[n].last_use >= lineage.backward(); });
    group(intervals, static_cast<std::size_t>(options.groups));
    std::set<std::int32_t> begins = {lineage.backward()};
    for (const Group& g : groups_) begins.insert(first_need(g));
    begins_.assign(begins.begin(), begins.end());
    split();
  }

  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::int32_t>& begins() const { return begins_; }  // the first kernel of each stage
  std::int32_t end(std::size_t stage) const {
    return stage + 1 < begins_.size() ? begins_[stage + 1] : graph_.shape.kernels;
  }

  CheckmateProblem program(std::int64_t budget) const {
    CheckmateProblem p{.budget = static_cast<double>(budget) / kMiB};
    for (std::size_t g = 0; g < groups_.size(); ++g) p.nodes.push_back(node(g));
    const std::vector<std::int64_t> rest = load_of_the_rest();
    for (std::size_t s = 0; s < begins_.size(); ++s) p.stages.push_back(stage(s, rest));
    for (const Group& g : groups_) p.peaks.push_back(peak(g, rest));
    return p;
  }

 private:
  // Layers one after the other, until they make their share of the bytes.
  void group(const std::vector<std::size_t>& intervals, std::size_t most) {
    std::int64_t bytes = 0, made = 0;
    for (const std::size_t n : intervals) bytes += profile_.intervals[n].bytes;
    for (const LayerRun& run : layer_runs(graph_)) {
      if (run.first >= lineage_.backward()) break;
      if (groups_.empty() ||
          made * static_cast<std::int64_t>(most) >= bytes * static_cast<std::int64_t>(groups_.size()))
        groups_.push_back({.first = run.first});
      groups_.back().outer = run.outer;
      for (const std::size_t n : intervals)
        if (const std::int32_t k = lineage_.of(profile_.intervals[n].tensor).kernels.back();
            k >= run.first && k < run.outer) {
          groups_.back().intervals.push_back(n);
          groups_.back().tensors.insert(profile_.intervals[n].tensor);
          made += profile_.intervals[n].bytes;
        }
    }
    std::erase_if(groups_, [](const Group& g) { return g.intervals.empty(); });
  }

  // What other groups are made of is a node of its own, a checkpoint, made of the rest of its group.
  void split() {
    std::set<std::int32_t> read;  // by other groups
    for (const Group& g : groups_)
      for (const std::int32_t k : kernels_of(g, g.tensors))
        for (const TensorUse& use : graph_.uses_of(k))
          if (!g.tensors.contains(use.tensor)) read.insert(use.tensor);
    std::vector<Group> nodes;
    for (const Group& g : groups_) {
      Group inside{.first = g.first, .outer = g.outer}, checkpoint = inside;
      for (const std::size_t n : g.intervals) {
        const std::int32_t t = profile_.intervals[n].tensor;
        Group& node = read.contains(t) ? checkpoint : inside;
        node.intervals.push_back(n);
        node.tensors.insert(t);
      }
      inside.kernels = kernels_of(inside, g.tensors);
      checkpoint.kernels = kernels_of(checkpoint, checkpoint.tensors);
      for (Group* node : {&inside, &checkpoint})
        if (!node->tensors.empty()) nodes.push_back(std::move(*node));
    }
    groups_ = std::move(nodes);
  }

  // That make the group's results again when all of `away` are.
  std::vector<std::int32_t> kernels_of(const Group& g, const std::set<std::int32_t>& away) const {
    return lineage_.kernels_for(std::vector(g.tensors.begin(), g.tensors.end()), first_need(g),
                                [&](std::int32_t t) { return away.contains(t); });
  }

  // The first kernel of the backward pass that uses a result of the group.
  std::int32_t first_need(const Group& g) const {
    std::int32_t first = graph_.shape.kernels;
    for (const std::size_t n : g.intervals) first = std::min(first, profile_.intervals[n].next_use);
    return first;
  }

  const GraphTensor& tensor(std::int32_t t) const { return graph_.tensors[static_cast<std::size_t>(t)]; }

  CheckmateProblem::Node node(std::size_t g) const {
    CheckmateProblem::Node n;
    std::set<std::size_t> reads;
    for (const std::int32_t k : groups_[g].kernels) {
      n.time += seconds(graph_.kernels[static_cast<std::size_t>(k)].duration) * 1e3;
      for (const TensorUse& use : graph_.uses_of(k))
        for (std::size_t other = 0; other < g; ++other)
          if (groups_[other].tensors.contains(use.tensor)) reads.insert(other);
    }
    n.reads.assign(reads.begin(), reads.end());
    return n;
  }

  // Bytes at each kernel without what the groups make.
  std::vector<std::int64_t> load_of_the_rest() const {
    std::vector<std::int64_t> load = graph_.load;
    for (const Group& g : groups_)
      for (const std::int32_t t : g.tensors)
        for (std::int32_t k = tensor(t).first; k < tensor(t).outer; ++k)
          load[static_cast<std::size_t>(k)] -= tensor(t).bytes;
    return load;
  }

  CheckmateProblem::Stage stage(std::size_t s, const std::vector<std::int64_t>& rest) const {
    CheckmateProblem::Stage stage;
    std::int64_t held = 0;
    std::set<std::size_t> needs;
    for (std::int32_t k = begins_[s]; k < end(s); ++k) {
      held = std::max(held, rest[static_cast<std::size_t>(k)]);
      for (const TensorUse& use : graph_.uses_of(k))
        for (std::size_t g = 0; g < groups_.size(); ++g)
          if (groups_[g].tensors.contains(use.tensor)) needs.insert(g);
    }
    stage.held = static_cast<double>(held) / kMiB;
    stage.needs.assign(needs.begin(), needs.end());
    for (const Group& g : groups_) {
      std::int64_t bytes = 0;
      for (const std::int32_t t : g.tensors)
        if (tensor(t).outer > begins_[s]) bytes += tensor(t).bytes;
      stage.bytes.push_back(static_cast<double>(bytes) / kMiB);
    }
    return stage;
  }

  // While the kernels of a group run for the first time.
  CheckmateProblem::Peak peak(const Group& during, const std::vector<std::int64_t>& rest) const {
    CheckmateProblem::Peak peak;
    std::vector<std::int64_t> held(rest.begin() + during.first, rest.begin() + during.outer);
    for (const Group& g : groups_) {
      std::int64_t left = 0;
      for (const std::size_t n : g.intervals) {
        const Interval& i = profile_.intervals[n];
        if (i.last_use < during.first) left += i.bytes;
        for (std::int32_t k = std::max(during.first, tensor(i.tensor).first); k < during.outer; ++k)
          if (i.last_use >= during.first) held[static_cast<std::size_t>(k - during.first)] += i.bytes;
      }
      peak.bytes.push_back(static_cast<double>(left) / kMiB);
    }
    peak.held = static_cast<double>(std::ranges::max(held)) / kMiB;
    return peak;
  }

  const Profile& profile_;
  const IterationGraph& graph_;
  const Lineage& lineage_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> begins_;
};

// A schedule and what is said of it.
struct Solved {
  CheckmateSchedule schedule{};
  std::string why{};
};

// Checkmate's program on groups of layers, with what the forward pass makes as its nodes: kernels of the backward pass
// run once. What a stage makes stays till its end, where the paper frees it inside: a plan drops tensors between
// kernels of the program. What the program leaves out, results that are made on the way and freed, is seen when the
// plan is proved; then it is solved again for less memory. The solver begins with the best of the rounded relaxation
// and of nodes at equal distances, which is what is left without a solution in time.
//
// On hardware: a framework whose graph of operators can be rewritten before it runs (the paper's TensorFlow 2).
class Checkmate final : public With<Planner, CheckmateOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const bool as_before = g > 0 && gpus[g].graph == gpus[g - 1].graph && gpus[g].budget == gpus[g - 1].budget;
      plans.push_back(as_before ? plans.back() : plan_of(gpus[g], services));
      plans.back().gpu = gpus[g].gpu;
    }
    return plans;
  }

 private:
  static constexpr int kPlans = 3;

  Plan plan_of(const Profile& profile, PlanServices& services) const {
    Plan plan = empty_plan(profile, "checkmate");
    const Lineage lineage(*profile.graph);
    const Problem problem(profile, lineage, options_);
    const bool makeable = !problem.groups().empty();
    plan.why = makeable ? "no schedule of the groups was found that keeps to the budget" : "nothing can be made again";
    const auto plan_for = [&](std::int64_t limit) -> std::optional<Plan> {
      const std::optional<Solved> solved = solve(problem.program(limit), services);
      if (!solved) return std::nullopt;
      Plan found = empty_plan(profile, "checkmate");
      found.why = solved->why;
      add_schedule(profile, lineage, problem, solved->schedule, found);
      return found;
    };
    if (makeable) plan = plan_for_less(profile, kPlans, std::move(plan), plan_for);
    prove(profile, plan);
    return plan;
  }

  // --- the program

  std::optional<Solved> solve(const CheckmateProblem& problem, PlanServices& services) const {
    const MipLimits limits{.seconds = seconds(options_.time_limit), .gap = options_.gap};
    std::optional<Solved> best;
    for (std::size_t distance = 1; distance <= problem.nodes.size(); ++distance)
      take_better(problem, {equidistant_schedule(problem, distance), "nodes at equal distances"}, best);
    const auto relaxed = services.solve(checkmate_model(problem, true), limits, {});
    if (!relaxed && best) best->why += ", because there is no solver: install coinor-cbc";
    if (!relaxed) return best;
    if (relaxed->status == MipSolution::Status::Infeasible) return std::nullopt;
    for (int tenth = 1; tenth <= 9 && !relaxed->values.empty(); ++tenth)
      take_better(problem, {rounded_schedule(problem, relaxed->values, tenth / 10.0), "the relaxation, rounded"}, best);
    if (options_.method == "optimal") solve_exactly(problem, limits, services, best);
    if (best && !relaxed->values.empty()) best->why += text(time_of(problem, best->schedule), relaxed->objective);
    return best;
  }

  static void solve_exactly(const CheckmateProblem& problem, const MipLimits& limits, PlanServices& services,
                            std::optional<Solved>& best) {
    const MipModel model = checkmate_model(problem, false);
    std::vector<std::pair<std::size_t, bool>> start;
    if (best) start = values_of(best->schedule);
    const auto solution = services.solve(model, limits, start);
    if (!solution || solution->values.empty()) return;
    best = Solved{schedule_of(problem, solution->values),
                  text_of(*solution) + " for " + std::to_string(model.binaries()) + " binaries"};
  }

  // ", 12 us of kernels run again, 3 % of it above the bound of the linear relaxation"
  static std::string text(double time, double bound) {
    const double above = time > 0 ? (time - bound) / time * 100 : 0;
    return ", " + uvmsim::rounded(from_seconds(time * 1e-3)) + " of kernels run again, " +
           std::to_string(std::lround(above)) + " % of it above the bound of the linear relaxation";
  }

  static void take_better(const CheckmateProblem& problem, Solved solved, std::optional<Solved>& best) {
    if (!fits(problem, solved.schedule)) return;
    if (!best || time_of(problem, solved.schedule) < time_of(problem, best->schedule)) best = std::move(solved);
  }

  // --- the plan

  static void add_schedule(const Profile& profile, const Lineage& lineage, const Problem& problem,
                           const CheckmateSchedule& schedule, Plan& plan) {
    Recomputation r(profile, lineage);
    for (std::size_t s = 0; s < problem.begins().size(); ++s) {
      for (std::size_t g = 0; g < problem.groups().size(); ++g)
        if (!schedule.kept[s][g]) drop(profile, problem.groups()[g], problem.begins()[s], r);
      for (std::int32_t k = problem.begins()[s]; k < problem.end(s); ++k) r.make_for(k);
    }
    add_segments(r, plan);
  }

  // What kernels from `from` on use of the group's results is gone by then.
  static void drop(const Profile& profile, const Group& group, std::int32_t from, Recomputation& r) {
    for (const std::int32_t t : group.tensors) {
      if (r.away(t) || r.drop_again(t)) continue;
      const std::vector<std::int32_t>& uses = profile.graph->tensors[static_cast<std::size_t>(t)].uses;
      const auto next = std::ranges::lower_bound(uses, from);
      if (next == uses.end() || next == uses.begin()) continue;
      const auto interval = std::ranges::lower_bound(profile.intervals, std::pair(t, *(next - 1)), {},
                                                     [](const Interval& i) { return std::pair(i.tensor, i.last_use); });
      if (interval != profile.intervals.end() && interval->tensor == t && interval->last_use == *(next - 1))
        r.drop(*interval);
    }
  }
};

const bool kRegistered = add_plug_in<Planner, Checkmate>(
    {.name = "checkmate",
     .summary = "which results of the forward pass stay and which are made again when, by an integer program",
     .source = "Jain et al., Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization, MLSys 2020, "
               "sections 4 and 5; parasj/checkmate; solved by CBC",
     .on_hardware = "a framework whose graph of operators can be rewritten before it runs"});

}  // namespace
}  // namespace uvmsim
