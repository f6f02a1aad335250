// The checker says before a run what the engine finds in it: for random programs and random plans, it accepts exactly
// those that the engine executes to their end, and its peaks are the engine's.
#include <gtest/gtest.h>

#include "engine/run.h"
#include "machine/memory_nodes.h"
#include "plan/plan_checker.h"
#include "plan/plan_json.h"
#include "report/json.h"
#include "study/child_process.h"
#include "support/one_gpu.h"
#include "support/random_plan.h"
#include "support/under_plans.h"

namespace uvmsim {
namespace {

// A GPU with two copy engines in each direction, and an SSD that copies by itself.
Machine machine_with(const PlanLimits& limits) {
  Machine m = one_gpu(Bytes{limits.device}, BytesPerSecond{2'000'000'000}, Bytes{limits.nodes.at("memory0")});
  m.gpus[GpuIndex{0}].copy.engines = 2;
  LinkSpec link = m.links.back();
  link.name = link.to = "ssd0";
  m.links.push_back(link);
  m.memories = {{.name = "ssd0", .kind = "ssd", .node = "ssd0", .capacity = Bytes{limits.nodes.at("ssd0")}}};
  m.memories.back().own_dma = true;
  for (const MemoryNode& node : unlisted_memories(m)) m.memories.push_back(node);
  return m;
}

Result run_apart(const trace::Trace& trace, const Plan& plan, const PlanLimits& limits) {
  ChildProcess child([&] {
    const Program program = under_plans(trace, {plan});
    const Process process{&program, {GpuIndex{0}}, true};
    return to_json(run(machine_with(limits), {&process, 1}, {.warmup = 1, .progress = {}}));
  });
  return result_from_json(child.wait()).value_or(Result{});
}

std::int64_t peak_of(const Result& result, const std::string& memory) {
  for (const MemoryPeak& peak : result.plan.memories)
    if (peak.name == memory) return peak.bytes;
  return -1;
}

TEST(PlanChecker, AcceptsExactlyThePlansThatTheEngineExecutes) {
  int accepted = 0, refused = 0, kept = 0, with_variants = 0;
  std::vector<int> executed_actions(std::variant_size_v<Action>);
  for (std::uint64_t seed = 1; seed <= 700; ++seed) {
    const trace::Trace trace = random_program(seed);
    Profile profile = profile_iterations(trace, DeviceOrdinal{0}, GpuIndex{0}, {}).back();
    profile.nodes = {{.name = "ssd0", .kind = "ssd"}};
    const Plan plan = random_plan(profile, seed);
    RandomChoice choose(seed);
    const std::int64_t peak = profile.peak();
    const PlanLimits limits{.device = peak * (75 + choose.below(50)) / 100 / 512 * 512,
                            .nodes = {{"memory0", choose.percent(80) ? std::int64_t{1} << 40 : peak / 4},
                                      {"ssd0", choose.percent(80) ? std::int64_t{1} << 40 : peak / 4}},
                            .nearest = "memory0"};
    const PlanProof proof = check_plan(*profile.graph, plan, limits);
    const Result result = run_apart(trace, plan, limits);
    const bool executed = result.outcome == Outcome::Completed;
    const std::string at = "seed " + std::to_string(seed) + ": " + result.detail + "\n" +
                           (proof.errors.empty() ? "" : proof.errors[0].place + ": " + proof.errors[0].message) + "\n" +
                           to_json(PlanFile{"", {plan}});
    ASSERT_EQ(proof.errors.empty(), executed) << at;
    (executed ? accepted : refused)++;
    if (!executed) continue;
    for (const Action& action : plan.actions) ++executed_actions[action.index()];
    ASSERT_EQ(proof.peak, peak_of(result, "gpu0")) << at;
    for (const std::string node : {"memory0", "ssd0"}) {
      const auto elsewhere = proof.nodes.find(node);
      ASSERT_EQ(elsewhere == proof.nodes.end() ? 0 : elsewhere->second, peak_of(result, node)) << node << ", " << at;
    }
    for (const Action& action : plan.actions)
      if (const auto* move = std::get_if<Move>(&action)) kept += move->keep;
    with_variants += !plan.variants.empty();
  }
  EXPECT_GE(accepted, 60);  // neither side may be empty
  EXPECT_GE(refused, 60);
  EXPECT_GE(kept, 60);
  EXPECT_GE(with_variants, 60);
  for (const std::size_t kind : {0, 1, 2, 3})  // all but HostCompute, which needs moves that go with it
    EXPECT_GE(executed_actions[kind], 10) << "actions of kind " << kind;
}

}  // namespace
}  // namespace uvmsim
