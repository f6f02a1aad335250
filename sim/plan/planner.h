// Planners answer "what happens to each tensor in each idle interval?".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "base/registry.h"
#include "plan/mip_model.h"
#include "plan/plan.h"
#include "plan/profile.h"

namespace uvmsim {

// What an action of a plan costs in a simulated iteration.
struct ActionCost {
  Duration stall{};     // streams and the host waited for its copies, mean over the measured iterations
  Duration lateness{};  // of its copy in, after its first user came to it, at worst; negative: it was early
};

// What came of plans in the simulation.
struct Evaluation {
  std::string outcome;                                        // "completed", "out_of_memory", ...
  Duration time = kNever;                                     // of an iteration; kNever: it did not complete
  std::vector<Duration> iterations{};                         // each of them, warm-up included
  std::vector<std::pair<std::string, std::int64_t>> peaks{};  // bytes of each GPU and memory node, at most
  std::vector<std::vector<ActionCost>> actions{};             // by plan, in the order given, and action
};

// What planners may ask for besides what they are told. Nothing here depends on when it is asked.
class PlanServices {
 public:
  virtual ~PlanServices() = default;
  // Solves `model`; `start`: values of some binaries to begin with. nullopt: there is no solver.
  virtual std::optional<MipSolution> solve(const MipModel& model, const MipLimits& limits,
                                           const std::vector<std::pair<std::size_t, bool>>& start) = 0;
  // The iteration of `profile`, the program's as it is, in `sub_batches` parts of its batch and with its kernels in the
  // order `order` (Plan). nullopt: the program cannot run so, as `why` says.
  virtual std::optional<Profile> rewritten([[maybe_unused]] const Profile& profile, [[maybe_unused]] int sub_batches,
                                           [[maybe_unused]] const std::vector<std::int32_t>& order,
                                           [[maybe_unused]] std::string& why) {
    return std::nullopt;
  }
  // What comes of each set of plans: the GPUs of a set run alone on the machine. Sets are simulated side by side.
  virtual std::vector<Evaluation> evaluate(std::span<const std::vector<Plan>> sets) = 0;

  // The time of an iteration under `plans`; kNever: it does not complete.
  Duration time_of(const std::vector<Plan>& plans) { return evaluate({&plans, 1}).front().time; }
};

// What a planner sees of an iteration that is over.
struct Observed {
  std::int32_t iteration = 0;                      // counted from 0
  Duration time{};                                 // of the slowest GPU
  std::vector<std::vector<ActionCost>> actions{};  // of this iteration, by plan and action
};

class Planner : public PlugIn {
 public:
  // The parameters are keys of the config's "plan" section next to "planner".
  static constexpr KindText kKind{.name = "planner", .noun = "planner", .use = "plan.planner", .options = "plan"};

  // One plan per profile, in their order. Profiles of one call are of one shape of iteration, one per GPU; GPUs that
  // a planner does not coordinate get the plan each would get alone. A budget that cannot be kept is no error:
  // Plan::feasible is false. The same profiles, parameters and answers of the services, the same plans.
  virtual std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const = 0;

  // Called between iterations: the plans, in the same order, of the iterations from the next one on, after `seen` under
  // `plans`; empty: these go on. For run-time systems, which learn while the program runs.
  virtual std::vector<Plan> revise([[maybe_unused]] std::span<const Profile> gpus,
                                   [[maybe_unused]] std::span<const Plan> plans, [[maybe_unused]] const Observed& seen,
                                   [[maybe_unused]] PlanServices& services) const {
    return {};
  }
  // Whether `revise` ever changes a plan.
  virtual bool revises() const { return false; }
};

inline Registry<Planner>& planners() { return registry<Planner>(); }

// --- what planners share

// The plans of a planner that plans for each GPU as if it were alone: `plan_of(profile)`.
template <class PlanOf>
std::vector<Plan> plan_each(std::span<const Profile> gpus, PlanOf plan_of) {
  std::vector<Plan> plans;
  for (const Profile& profile : gpus) plans.push_back(plan_of(profile));
  return plans;
}

inline TensorInterval of_interval(const Interval& i) { return {i.tensor, i.last_use, i.next_use, i.bytes}; }

// A plan for `profile` that swaps nothing.
Plan empty_plan(const Profile& profile, const std::string& planner);

// Keeps of `profile` what a set of intervals, by index, leaves held at each kernel.
std::vector<std::int64_t> load_without(const Profile& profile, const std::vector<std::size_t>& swapped);

// Swaps the intervals `chosen`. Copies out start after the last use; copies in as late as they can and still be in time
// one after the other, or `ahead` kernels before the next use when that is positive.
void swap_intervals(const Profile& profile, const std::vector<std::size_t>& chosen, int ahead, Plan& plan);

// Bytes held at each kernel under `plan` in the ideal model: those of every interval are absent strictly between its
// two uses, and what the CPU works on takes none.
std::vector<std::int64_t> load_under(const Profile& profile, const Plan& plan);

// Sorts the actions by tensor and last use and says whether the plan keeps to its budget in the ideal model: the bytes
// of every interval are absent strictly between its two uses.
void finish(const Profile& profile, Plan& plan);

}  // namespace uvmsim
