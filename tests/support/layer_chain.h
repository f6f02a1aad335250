// A chain of layers in one iteration, for planners: forward l makes the activation of layer l from that of layer l - 1
// and a weight, backward l reads both and makes the weight's gradient, and an optimizer's kernels update the weights.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "plan/no_services.h"
#include "plan/plan_checker.h"
#include "workload/trace_builder.h"

namespace uvmsim {

inline constexpr std::int64_t kPlenty = std::int64_t{1} << 40;  // bytes: more than any chain needs

struct LayerChain {
  int layers = 8;
  std::int64_t activation = 64 << 20, weight = 1 << 20;       // bytes
  std::int64_t forward_ns = 10'000'000, step_ns = 1'000'000;  // backward takes twice as long
  std::string forward = "forward";                            // names of kernels
  bool optimizer = false;

  // Ordinals: weights 0 .. layers - 1, with an optimizer moments from `layers` on; then activations.
  trace::Trace trace(int iterations = 3) const {
    TraceBuilder t({});
    std::vector<trace::TensorId> weights, moments;
    for (int l = 0; l < layers; ++l) weights.push_back(t.allocate(Bytes{weight}, TensorKind::Param));
    for (int l = 0; l < layers && optimizer; ++l) moments.push_back(t.allocate(Bytes{weight}, TensorKind::Optimizer));
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      std::vector<trace::TensorId> made, gradients(static_cast<std::size_t>(layers));
      const auto at = [](const std::vector<trace::TensorId>& list, int l) { return list[static_cast<std::size_t>(l)]; };
      t.phase("forward");
      for (int l = 0; l < layers; ++l) {
        t.layer(t.string("layer" + std::to_string(l)));
        made.push_back(t.allocate(Bytes{activation}, TensorKind::Activation));
        std::vector<trace::Access> operands = {reads(at(weights, l)), writes(made.back())};
        if (l > 0) operands.push_back(reads(at(made, l - 1)));
        t.kernel(forward, {.duration_ns = forward_ns}, operands);
      }
      t.phase("backward");
      for (int l = layers; l-- > 0;) {
        t.layer(t.string("layer" + std::to_string(l)));
        std::vector<trace::Access> operands = {reads(at(weights, l)), reads(at(made, l))};
        if (l > 0) operands.push_back(reads(at(made, l - 1)));
        if (optimizer) {
          gradients[static_cast<std::size_t>(l)] = t.allocate(Bytes{weight}, TensorKind::WeightGradient);
          operands.push_back(writes(gradients[static_cast<std::size_t>(l)]));
        }
        t.kernel("backward", {.duration_ns = 2 * forward_ns}, operands);
        t.free(at(made, l));
      }
      if (!optimizer) continue;
      t.phase("optimizer");
      t.layer(t.string(""));
      for (int l = 0; l < layers; ++l) {
        t.kernel("adam_m", {.duration_ns = step_ns}, {updates(at(moments, l)), reads(at(gradients, l))});
        const trace::TensorId scratch = t.allocate(Bytes{weight}, TensorKind::Workspace);
        t.kernel("adam_sqrt", {.duration_ns = step_ns}, {reads(at(moments, l)), writes(scratch)});
        t.kernel("adam_p", {.duration_ns = step_ns}, {updates(at(weights, l)), reads(scratch)});
        t.free(scratch);
      }
      for (const trace::TensorId gradient : gradients) t.free(gradient);
    }
    return t.take();
  }

  // Of the last iteration on a GPU with `budget` bytes and links of 12.8 GB/s.
  Profile profile(std::int64_t budget) const {
    constexpr BytesPerSecond kRate{12'800'000'000};
    Profile p = profile_iterations(trace(), DeviceOrdinal{0}, GpuIndex{0}, {.links = {kRate, kRate, {}}}).back();
    p.budget = Bytes{budget};
    return p;
  }
};

// A node of kind `kind` with links of 12.8 GB/s.
inline NodeLink node(std::string name, std::string kind, std::int64_t capacity, bool nearest = false) {
  constexpr BytesPerSecond kRate{12'800'000'000};
  return {.name = std::move(name),
          .kind = std::move(kind),
          .capacity = Bytes{capacity},
          .links = {kRate, kRate, {}},
          .nearest = nearest};
}

inline Plan plan_by(Planner& planner, const Profile& profile) {
  NoServices services;
  return planner.plan({&profile, 1}, services).front();
}
inline std::unique_ptr<Planner> planner_named(const std::string& name) { return planners().find(name)->make(); }

// The checker takes the plan.
inline void expect_proved(const Profile& profile, const Plan& plan) {
  PlanLimits limits{.device = profile.budget.value, .nodes = {}, .nearest = "memory0"};
  for (const NodeLink& n : profile.nodes) limits.nodes[n.name] = n.capacity.value;
  for (const InputError& error : check_plan(*profile.graph, plan, limits).errors)
    ADD_FAILURE() << error.place << ": " << error.message;
}

template <class A>
std::vector<A> actions_of(const Plan& plan) {
  std::vector<A> found;
  for (const Action& action : plan.actions)
    if (const auto* a = std::get_if<A>(&action)) found.push_back(*a);
  return found;
}

}  // namespace uvmsim
