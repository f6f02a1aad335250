#include "base/number_text.h"
#include "plan/planner.h"
#include "plan/planners/host_optimizer.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct ZeroOffloadOptions {
  int cores = 16;

  static const Description& description() {
    static const Description d =
        Describe<ZeroOffloadOptions>("the optimizer on the CPU")
            .integer("cores", &ZeroOffloadOptions::cores,
                     "cores on which the optimizer's step runs, each at the host's touch_bandwidth (assumed)",
                     {1, 1024})
            .build();
    return d;
  }
};

// Optimizer state lives in host memory, and the CPU makes the optimizer's step: gradients are copied out as the
// backward pass makes them, the step of a parameter begins when its operands are there, and the parameter comes back at
// once. Activations stay.
//
// The paper's parameters on the GPU are half-precision copies of those on the host, which never leave it. Here a
// program's parameters are one tensor each; their copies on the host stay while the passes read them on the GPU, so
// that only the first iteration copies them out. Its one-step delayed update is left out: it changes which parameters a
// kernel reads. On hardware: nothing; DeepSpeed does it.
class ZeroOffload final : public With<Planner, ZeroOffloadOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) {
      Plan plan = empty_plan(profile, "zero_offload");
      HostOptimizer step = optimizer_on_host(profile, {.cores = options_.cores});
      plan.actions = std::move(step.actions);
      plan.why = step.groups == 0
                     ? "no kernel is an optimizer's that the CPU could run"
                     : std::to_string(step.groups) + " steps on the CPU, " + bytes_text(step.state) +
                           " of state on the host, " + bytes_text(step.out) + " out and " + bytes_text(step.in) + " in";
      keep_copies(profile, gpus.size(), plan);
      sort_by_use(profile, plan);
      conclude(profile, gpus.size(), plan);
      plans.push_back(std::move(plan));
    }
    return plans;
  }
};

const bool kRegistered = add_plug_in<Planner, ZeroOffload>(
    {.name = "zero_offload",
     .summary = "optimizer state and its step on the CPU; gradients go out and parameters come back during the passes",
     .source =
         "Ren et al., ZeRO-Offload: Democratizing Billion-Scale Model Training, USENIX ATC 2021, sections 4 and 5",
     .on_hardware = "DeepSpeed, whose optimizer runs on the CPU, and pinned host memory"});

}  // namespace
}  // namespace uvmsim
