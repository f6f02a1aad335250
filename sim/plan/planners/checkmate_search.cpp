#include "plan/planners/checkmate_search.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/number_text.h"
#include "plan/feature_maps.h"
#include "plan/planners/checkmate_groups.h"
#include "plan/swap_schedule.h"

namespace uvmsim {

const Description& CheckmateOptions::description() {
  using O = CheckmateOptions;
  static const Description d =
      Describe<O>("optimal recomputation as an integer program")
          .integer("groups", &O::groups,
                   "groups of layers of the forward pass, at most, that make as many bytes each: the program has "
                   "four times the square of it in binaries, with paging six times (assumed)",
                   {2, 200})
          .duration("time_limit", &O::time_limit,
                    "time limit of the solver; a plan that it cuts short depends on the machine's speed")
          .number("gap", &O::gap, "relative distance to the bound at which the solver may stop", {0, 1})
          .text("method", &O::method, "the integer program, or its relaxation, rounded at 0.1, 0.2, ... 0.9",
                {"optimal", "rounding"})
          .bytes("min_bytes", &O::min_bytes, "smaller results stay (assumed)")
          .build();
  return d;
}

namespace {

constexpr int kPlans = 3;
constexpr double kNone = std::numeric_limits<double>::infinity();

// A schedule and what is said of it.
struct Solved {
  CheckmateSchedule schedule{};
  std::string why{};
};

// Of one problem.
class Search {
 public:
  Search(const CheckmateProblem& problem, const CheckmateOptions& options, PlanServices& services)
      : problem_(problem), options_(options), services_(services) {}

  // nullopt: no schedule was found that keeps to the budget.
  std::optional<Solved> run() {
    take_equidistant();
    if (problem_.paging) take_recomputation();
    const auto relaxed = services_.solve(checkmate_model(problem_, true), limits(), {});
    if (!relaxed && problem_.paging) page_one_by_one();
    if (!relaxed && best_) best_->why += ", because there is no solver: install coinor-cbc";
    if (!relaxed) return best_;
    if (relaxed->status == MipSolution::Status::Infeasible) return std::nullopt;
    for (int tenth = 1; tenth <= 9 && !relaxed->values.empty(); ++tenth)
      take_better({rounded_schedule(problem_, relaxed->values, tenth / 10.0), "the relaxation, rounded"});
    if (problem_.paging) page_one_by_one();
    if (options_.method == "optimal") solve_exactly();
    if (best_ && !relaxed->values.empty()) best_->why += text(time_of(problem_, best_->schedule), relaxed->objective);
    return best_;
  }

 private:
  MipLimits limits() const { return {.seconds = seconds(options_.time_limit), .gap = options_.gap}; }

  // With paging, of what is not kept the nodes move that take longest to make again for their bytes, none to all.
  void take_equidistant() {
    const std::size_t nodes = problem_.nodes.size();
    for (std::size_t paged = 0; paged <= (problem_.paging ? nodes : 0); ++paged)
      for (std::size_t distance = 1; distance <= nodes + (paged > 0 ? 1 : 0); ++distance)
        take_better({equidistant_schedule(problem_, distance, paged), "nodes at equal distances"});
  }

  // The best schedule without paging.
  void take_recomputation() {
    CheckmateProblem problem = problem_;
    problem.paging.reset();
    if (const std::optional<Solved> solved = Search(problem, options_, services_).run())
      take_better({solved->schedule, "the best without paging"});
  }

  // One node more or less that comes back from host memory, as long as that takes less time.
  void page_one_by_one() {
    if (!best_) return;
    const std::string why = best_->why + ", then one node after the other paged";
    std::vector<bool> pages = best_->schedule.pages();
    for (double before = kNone; before > time_of(problem_, best_->schedule);) {
      before = time_of(problem_, best_->schedule);
      for (std::size_t i = 0; i < pages.size(); ++i) {
        pages[i] = !pages[i];
        const double least = time_of(problem_, best_->schedule);
        take_better({repaged_schedule(problem_, best_->schedule, pages), why});
        if (time_of(problem_, best_->schedule) == least) pages[i] = !pages[i];
      }
    }
  }

  void solve_exactly() {
    const MipModel model = checkmate_model(problem_, false);
    std::vector<std::pair<std::size_t, bool>> start;
    if (best_) start = values_of(problem_, best_->schedule);
    const auto solution = services_.solve(model, limits(), start);
    if (!solution || solution->values.empty()) return;
    best_ = Solved{schedule_of(problem_, solution->values),
                   text_of(*solution) + " for " + std::to_string(model.binaries()) + " binaries"};
  }

  // ", 12 us of kernels run again, 3 % of it above the bound of the linear relaxation"
  std::string text(double time, double bound) const {
    const double above = time > 0 ? (time - bound) / time * 100 : 0;
    return ", " + seconds_text(from_seconds(time * 1e-3)) +
           (problem_.paging ? " of kernels run again and of waiting for copies, " : " of kernels run again, ") +
           std::to_string(std::lround(above)) + " % of it above the bound of the linear relaxation";
  }

  void take_better(Solved solved) {
    if (!fits(problem_, solved.schedule)) return;
    if (!best_ || time_of(problem_, solved.schedule) < time_of(problem_, best_->schedule)) best_ = std::move(solved);
  }

  const CheckmateProblem& problem_;
  const CheckmateOptions& options_;
  PlanServices& services_;
  std::optional<Solved> best_;
};

Plan plan_of(const Profile& profile, const CheckmateOptions& options, const std::string& planner, bool pages,
             PlanServices& services) {
  Plan plan = empty_plan(profile, planner);
  const Lineage lineage(*profile.graph);
  const CheckmateGroups groups(profile, lineage, options.groups, options.min_bytes);
  plan.why =
      groups.empty() ? "nothing can be made again" : "no schedule of the groups was found that keeps to the budget";
  const auto plan_for = [&](std::int64_t limit) -> std::optional<Plan> {
    const CheckmateProblem problem = groups.program(limit, pages);
    const std::optional<Solved> solved = Search(problem, options, services).run();
    if (!solved) return std::nullopt;
    Plan found = empty_plan(profile, planner);
    found.why = solved->why;
    groups.add_schedule(solved->schedule, limit, found);
    return found;
  };
  if (!groups.empty()) plan = plan_for_less(profile, kPlans, std::move(plan), plan_for);
  prove(profile, plan);
  return plan;
}

}  // namespace

std::vector<Plan> checkmate_plans(std::span<const Profile> gpus, const CheckmateOptions& options,
                                  const std::string& planner, bool pages, PlanServices& services) {
  std::vector<Plan> plans;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const bool as_before = g > 0 && gpus[g].graph == gpus[g - 1].graph && gpus[g].budget == gpus[g - 1].budget;
    plans.push_back(as_before ? plans.back() : plan_of(gpus[g], options, planner, pages, services));
    plans.back().gpu = gpus[g].gpu;
  }
  return plans;
}

}  // namespace uvmsim
