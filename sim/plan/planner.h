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

// What planners may ask for beside what they are told. Nothing here depends on when it is asked.
class PlanServices {
 public:
  virtual ~PlanServices() = default;
  // Solves `model`; `start`: values of some binaries to begin with. nullopt: there is no solver.
  virtual std::optional<MipSolution> solve(const MipModel& model, const MipLimits& limits,
                                           const std::vector<std::pair<std::size_t, bool>>& start) = 0;
  // The time of an iteration of the GPUs of these plans under them, alone on the machine; kNever: it does not complete.
  virtual Duration evaluate(std::span<const Plan> plans) = 0;
};

class Planner {
 public:
  virtual ~Planner() = default;

  // The parameters, described; `parameters()` is the object the description describes. They are the keys of the
  // config's "plan" section beside "planner".
  virtual const Description& description() const = 0;
  virtual void* parameters() = 0;

  // One plan per profile, in their order. Profiles of one call are of one shape of iteration, one per GPU; GPUs that
  // a planner does not coordinate get the plan each would get alone. A budget that cannot be kept is no error:
  // Plan::feasible is false. The same profiles, parameters and answers of the services, the same plans.
  virtual std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const = 0;
};

using PlannerRegistry = Registry<std::unique_ptr<Planner>()>;
PlannerRegistry& planners();

// Registers the planner P: a struct with `options` (its parameters), a static `describe()` of these, and `plan` as in
// Planner.
template <class P>
bool add_planner(std::string name, std::string summary, std::string source) {
  class Kind final : public Planner {
   public:
    const Description& description() const override { return P::describe(); }
    void* parameters() override { return &planner_.options; }
    std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
      return planner_.plan(gpus, services);
    }

   private:
    P planner_;
  };
  return planners().add(
      {std::move(name), std::move(summary), std::move(source), [] { return std::make_unique<Kind>(); }});
}

// --- what planners share

// A plan for `profile` that swaps nothing.
Plan empty_plan(const Profile& profile, const std::string& planner);

// Keeps of `profile` what a set of intervals, by index, leaves held at each kernel.
std::vector<std::int64_t> load_without(const Profile& profile, const std::vector<std::size_t>& swapped);

// Swaps the intervals `chosen`. Copies out start after the last use; copies in as late as they can and still be in time
// one after the other, or `ahead` kernels before the next use when that is positive.
void swap_intervals(const Profile& profile, const std::vector<std::size_t>& chosen, int ahead, Plan& plan);

// Sorts the dispositions and says whether the plan keeps to its budget in the ideal model: every interval that is
// swapped or dropped is absent strictly between its two uses.
void finish(const Profile& profile, Plan& plan);

// Throws UserError unless each disposition of `plan` is of an interval of `profile`, with its bytes, drops only what is
// overwritten, and its transfers start inside the interval.
void check_plan(const Profile& profile, const Plan& plan);

}  // namespace uvmsim
