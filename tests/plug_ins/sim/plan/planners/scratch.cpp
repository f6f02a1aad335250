#include "plan/planner.h"

namespace uvmsim {
namespace {

struct Options {
  int keep = 1;
};

struct Scratch {
  Options options;

  static const Description& describe() {
    static const Description d =
        Describe<Options>("an example").integer("keep", &Options::keep, "tensors to keep", {0, 9}).build();
    return d;
  }
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) plans.push_back(empty_plan(profile, "scratch"));
    return plans;
  }
};

const bool kRegistered = add_planner<Scratch>("scratch", "an example", "a test");

}  // namespace
}  // namespace uvmsim
