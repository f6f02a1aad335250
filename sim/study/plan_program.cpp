#include "study/plan_program.h"

#include <algorithm>

#include "machine/memory_nodes.h"
#include "plan/link_model.h"
#include "plan/rewrite.h"

namespace uvmsim {

DeviceOrdinal device_of(const Experiment& experiment, GpuIndex gpu) {
  return experiment.workload.data_parallel ? DeviceOrdinal{} : DeviceOrdinal{gpu.value};
}

ProfileSetting setting_of(const Experiment& experiment, GpuIndex gpu) {
  return {.launch = experiment.machine.host.runtime.kernel_launch,
          .links = link_model(experiment.machine, gpu),
          .nodes = node_links(experiment.machine, gpu),
          .budget = experiment.machine.gpus[gpu].usable_memory,
          .sparsity = sparsity_of(experiment.plan)};
}

bool asks_for_another_program(const Plan& plan) { return plan.sub_batches > 1 || !plan.order.empty(); }

namespace {

// Iteration `iteration` of the program `trace`.
ShapeOfIteration shape_at(const trace::Trace& trace, DeviceOrdinal device, std::int32_t iteration) {
  std::vector<ShapeOfIteration> shapes = shapes_of(trace, device);
  return *std::ranges::find_if(shapes, [&](const ShapeOfIteration& s) { return s.iteration >= iteration; });
}

}  // namespace

trace::Trace planned_program(const Experiment& experiment, trace::Trace trace, std::span<const Plan> plans) {
  const auto& gpus = experiment.machine.gpus;
  return rewritten(std::move(trace), plans, gpus.empty() ? nullptr : &gpus.at(GpuIndex{0}));
}

Profile rewritten_profile(const Experiment& experiment, const trace::Trace& trace, const Profile& profile,
                          const Plan& plan) {
  if (!asks_for_another_program(plan)) return profile;
  const DeviceOrdinal device = device_of(experiment, profile.gpu);
  Plan whole{.gpu = plan.gpu, .sub_batches = plan.sub_batches};
  trace::Trace program = planned_program(experiment, trace, {&whole, 1});
  ShapeOfIteration shape = shape_at(program, device, profile.iteration);
  if (!plan.order.empty()) {
    const std::string place = "gpu " + std::to_string(plan.gpu.value) + " /order";
    program = with_order(program, shape.graph->shape, plan.order, place);
    shape = shape_at(program, device, profile.iteration);
  }
  return profile_of(shape, profile.gpu, setting_of(experiment, profile.gpu));
}

}  // namespace uvmsim
