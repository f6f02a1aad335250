#include "plan/planner.h"

namespace uvmsim {
namespace {

struct LmsOptions {
  bool speculate = true;

  static const Description& description() {
    static const Description d =
        Describe<LmsOptions>("reactive swapping")
            .flag("speculate", &LmsOptions::speculate,
                  "copy out as soon as it is idle what was reclaimed at the same place an iteration before")
            .build();
    return d;
  }
};

// Nothing is planned: an allocation that finds no room copies out what has been idle longest, and the host waits for
// it; a tensor that is not there comes back when a kernel asks for it. No GPU knows of the others.
class LmsLike final : public With<Planner, LmsOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) {
      Plan plan = empty_plan(profile, "lms_like");
      plan.speculate = options_.speculate;
      plan.why = "reactive: " + std::string(options_.speculate ? "with" : "without") + " speculative copies out";
      plans.push_back(std::move(plan));
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const std::vector<std::int64_t> floor = gpus[g].floor();
      for (const std::int64_t bytes : floor) plans[g].feasible = plans[g].feasible && bytes <= gpus[g].budget.value;
    }
    return plans;
  }
};

const bool kRegistered =
    add_plug_in<Planner, LmsLike>({.name = "lms_like",
                                   .summary = "reactive swapping that ignores contention",
                                   .source = "IBM/pytorch-large-model-support, patch for PyTorch 1.5",
                                   .on_hardware = "PyTorch 1.5 with IBM's patch"});

}  // namespace
}  // namespace uvmsim
