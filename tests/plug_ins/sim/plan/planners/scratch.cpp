#include "plan/planner.h"

namespace uvmsim {
namespace {

struct Options {
  int keep = 1;

  static const Description& description() {
    static const Description d =
        Describe<Options>("an example").integer("keep", &Options::keep, "tensors to keep", {0, 9}).build();
    return d;
  }
};

class Scratch final : public With<Planner, Options> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) plans.push_back(empty_plan(profile, "scratch"));
    return plans;
  }
};

const bool kRegistered =
    add_plug_in<Planner, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
