#include <algorithm>

#include "base/number_text.h"
#include "plan/planner.h"
#include "plan/planners/host_optimizer.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct ZeroInfinityOptions {
  int cores = 16;
  std::string state = "ssd";
  std::string parameters = "ssd";
  bool activations = true;
  int prefetch_layers = 2;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = ZeroInfinityOptions;
    static const Description d =
        Describe<O>("optimizer state, parameters and activations off the GPU")
            .integer("cores", &O::cores,
                     "cores on which the optimizer's step runs, each at the host's touch_bandwidth (assumed)",
                     {1, 1024})
            .text("state", &O::state, "kind of memory node that holds the optimizer's state",
                  {"ssd", "dram", "nvm", "cxl"})
            .text("parameters", &O::parameters, "the same for parameters and gradients; gpu: they stay",
                  {"ssd", "dram", "nvm", "cxl", "gpu"})
            .flag("activations", &O::activations,
                  "whether activations kept for the backward pass go to the nearest host memory")
            .integer("prefetch_layers", &O::prefetch_layers, "copies in start this many layers ahead (assumed)",
                     {1, 10'000}, "layers")
            .bytes("min_bytes", &O::min_bytes, "smaller parameters and activations stay (assumed)")
            .build();
    return d;
  }
};

// As ZeRO-Offload, with optimizer state on NVMe, which the CPU streams through while it makes the step. Parameters
// leave the GPU when their layer is done and come back some layers ahead of their next use, so that the GPU holds a few
// layers of them; what only reads them copies them out no more. Activations kept for the backward pass wait in host
// memory likewise.
//
// The partition of all this over GPUs, and the gathering of parameters from all of them, is the program's own: a trace
// of a data-parallel job that has no such partition has none here. Nor are operators cut into tiles. On hardware:
// nothing; DeepSpeed does it.
class ZeroInfinity final : public With<Planner, ZeroInfinityOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile, gpus.size()); });
  }

 private:
  Plan plan_of(const Profile& profile, std::size_t gpus) const {
    Plan plan = empty_plan(profile, "zero_infinity");
    const NodeLink* state = node_of_kind(profile, options_.state);
    const NodeLink* parameters = node_of_kind(profile, options_.parameters);
    const bool stay = options_.parameters == "gpu";
    if (state == nullptr || (parameters == nullptr && !stay)) {
      plan.why = "the machine has no memory node of kind " + (state == nullptr ? options_.state : options_.parameters);
      conclude(profile, gpus, plan);
      plan.feasible = false;
      return plan;
    }
    const std::string to = stay ? "" : parameters->name;
    HostOptimizer step = optimizer_on_host(profile, {.cores = options_.cores, .state = state->name, .parameters = to});
    plan.actions = std::move(step.actions);
    const std::int64_t layered = move_by_layers(profile, to, step, plan);
    plan.why = std::to_string(step.groups) + " steps on the CPU, " + bytes_text(step.state) + " of state on " +
               state->name + ", " + bytes_text(step.out) + " out and " + bytes_text(step.in) + " in for them; " +
               bytes_text(layered) + " each way by layers";
    keep_copies(profile, gpus, plan);
    sort_by_use(profile, plan);
    conclude(profile, gpus, plan);
    return plan;
  }

  // The intervals in which layers far enough apart use a parameter or an activation, and the returns of parameters from
  // the optimizer's step: ahead of their layers, not at once.
  std::int64_t move_by_layers(const Profile& profile, const std::string& to, const HostOptimizer& step,
                              Plan& plan) const {
    const LayerRuns layers(*profile.graph);
    std::set<std::pair<std::int32_t, std::int32_t>> known;  // intervals: (tensor, last use)
    for (Action& action : plan.actions)
      if (auto* m = std::get_if<Move>(&action)) {
        known.emplace(m->of.tensor, m->of.last_use);
        if (m->in.at.on != Trigger::On::Access) m->in.at = ahead_of(profile, layers, m->of);
      }
    const std::set<std::int32_t> on_host = kernels_on_host(plan);
    std::int64_t bytes = 0;
    for (const Interval& i : profile.intervals) {
      const bool parameter = i.tensor < profile.shape().held;
      if (i.dead || i.bytes < options_.min_bytes.value || known.contains({i.tensor, i.last_use})) continue;
      if (on_host.contains(i.last_use) || on_host.contains(i.next_use)) continue;
      if (parameter ? options_.parameters == "gpu" : !options_.activations || step.tensors.contains(i.tensor)) continue;
      const std::int32_t apart = layers.of(i.next_use) - layers.of(i.last_use) + (i.wraps ? layers.count() : 0);
      if (apart <= options_.prefetch_layers + 1) continue;
      bytes += i.bytes;
      plan.actions.push_back(Move{.of = of_interval(i),
                                  .to = parameter ? to : "",
                                  .out = {{Trigger::On::AfterKernel, i.last_use}},
                                  .in = {ahead_of(profile, layers, of_interval(i))}});
    }
    return bytes;
  }

  // When the layer begins that is `prefetch_layers` before the next use's, or after the last use.
  Trigger ahead_of(const Profile& profile, const LayerRuns& layers, const TensorInterval& of) const {
    const std::int32_t count = layers.count();
    const std::int32_t apart = layers.of(of.next_use) - layers.of(of.last_use) + (of.wraps() ? count : 0);
    if (apart <= options_.prefetch_layers || of.last_use + 1 == profile.shape().kernels)
      return {Trigger::On::AfterKernel, of.last_use};
    return {Trigger::On::BeforeKernel,
            layers.first((layers.of(of.next_use) + count - options_.prefetch_layers % count) % count)};
  }
};

const bool kRegistered = add_plug_in<Planner, ZeroInfinity>(
    {.name = "zero_infinity",
     .summary = "optimizer state on NVMe and its step on the CPU; parameters and activations by layers",
     .source =
         "Rajbhandari et al., ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning, SC 2021, "
         "sections 5 and 6",
     .on_hardware =
         "DeepSpeed with NVMe, whose modules fetch and release their parameters, and an optimizer on the CPU"});

}  // namespace
}  // namespace uvmsim
