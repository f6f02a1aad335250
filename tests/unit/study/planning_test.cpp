// Planners that ask the simulation and learn from it. A link of 10 GB/s; x of 100 MB is idle while k2 runs, 10 ms each
// kernel: copied out after k1 and in after k2 it is as late as the copy takes.
#include "study/planning.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/user_error.h"
#include "report/json.h"
#include "study/child_process.h"
#include "study/planned_run.h"
#include "study/simulate.h"
#include "trace/writer.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kBytes = 100'000'256;  // whole units of 512

trace::Trace four_kernels() {
  TraceBuilder t({});
  const trace::Kernel kernel{.duration_ns = 10'000'000};
  for (int i = 0; i < 4; ++i) {
    t.iteration(i);
    const auto x = t.allocate(Bytes{kBytes}, TensorKind::Activation);
    t.kernel("k0", kernel, {writes(x)});
    t.kernel("k1", kernel, {reads(x)});
    t.kernel("k2", kernel, {});
    t.kernel("k3", kernel, {reads(x)});
    t.free(x);
  }
  return t.take();
}

Plan move_x(const Profile& profile, std::int32_t in_after) {
  return {.iteration = profile.shape(),
          .planner = "test",
          .why = "a test",
          .actions = {Move{.of = {0, 1, 3, kBytes},
                           .out = {{Trigger::On::AfterKernel, 1}},
                           .in = {{Trigger::On::AfterKernel, in_after}}}}};
}

// Moves x from the second iteration on, and remembers what it saw.
class Learner final : public Planner {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    const std::vector<std::vector<Plan>> sets = {{move_x(gpus[0], 2)}, {Plan{.iteration = gpus[0].shape()}}};
    evaluations = services.evaluate(sets);
    return {Plan{.iteration = gpus[0].shape(), .planner = "learner"}};
  }
  std::vector<Plan> revise(std::span<const Profile> gpus, std::span<const Plan>, const Observed& observed,
                           PlanServices&) const override {
    seen.push_back(observed);
    if (observed.iteration != 0) return {};
    return {move_x(gpus[0], 2)};
  }
  bool revises() const override { return true; }

  mutable std::vector<Evaluation> evaluations;
  mutable std::vector<Observed> seen;
};

class PlanningTest : public testing::Test {
 protected:
  PlanningTest() {
    std::ofstream file(path_, std::ios::binary);
    write_trace(four_kernels(), file);
    experiment_.workload.parameters = nullptr;
    experiment_.workload.trace = path_;
    experiment_.workload.placement.memory = "device";
    experiment_.run = {.warmup = 1, .iterations = 3};
    experiment_.plan.parameters = learner_;
  }
  ~PlanningTest() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "planning_test_" + std::to_string(getpid()) + ".uvmtrace";
  Experiment experiment_ = read_experiment(UVMSIM_SOURCE_DIR "/configs/vector_add_v100.json");
  const std::shared_ptr<Learner> learner_ = std::make_shared<Learner>();
};

// The copy in waits for k3, which waits for it: late by as long as it takes, and so is the iteration.
TEST_F(PlanningTest, EvaluationsTellTimePeaksAndWhatActionsCost) {
  make_plans(experiment_, make_trace(experiment_));
  ASSERT_EQ(learner_->evaluations.size(), 2u);
  const Evaluation& moved = learner_->evaluations[0];
  const Evaluation& plain = learner_->evaluations[1];
  EXPECT_EQ(moved.outcome, "completed");
  EXPECT_EQ(moved.iterations.size(), 4u);
  const Duration in = link_model(experiment_.machine, GpuIndex{0}).in_time(kBytes);
  EXPECT_NEAR(seconds(moved.time - plain.time), seconds(in), 1e-4);
  ASSERT_EQ(moved.actions.size(), 1u);
  ASSERT_EQ(moved.actions[0].size(), 1u);
  EXPECT_NEAR(seconds(moved.actions[0][0].stall), seconds(in), 1e-4);
  EXPECT_NEAR(seconds(moved.actions[0][0].lateness), seconds(in), 1e-4);
  const auto gpu = std::ranges::find(moved.peaks, "gpu0", &std::pair<std::string, std::int64_t>::first);
  ASSERT_NE(gpu, moved.peaks.end());
  EXPECT_EQ(gpu->second, kBytes);
  EXPECT_TRUE(std::ranges::any_of(moved.peaks, [](const auto& p) { return p.first != "gpu0" && p.second == kBytes; }));
}

TEST_F(PlanningTest, APlannerLearnsBetweenIterations) {
  const std::vector<Plan> plans = make_plans(experiment_, make_trace(experiment_)).plans;
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].first_iteration, 0);
  EXPECT_EQ(plans[1].first_iteration, 1);
  ASSERT_EQ(learner_->seen.size(), 3u);  // between the four iterations
  EXPECT_EQ(learner_->seen[1].iteration, 1);
  // The move was in place in the second iteration.
  EXPECT_GT(learner_->seen[1].time, learner_->seen[0].time + microseconds(1000));
  ASSERT_EQ(learner_->seen[1].actions.size(), 2u);
  EXPECT_GT(learner_->seen[1].actions[1].at(0).stall, microseconds(1000));
}

TEST_F(PlanningTest, ManagedMemoryRefusesOnceWhatSeveralActionsAskFor) {
  experiment_.workload.placement.memory = "managed";
  const trace::Trace trace = make_trace(experiment_);
  std::vector<Profile> profiles = profiles_of(experiment_, trace).front();
  const Plan plan{.iteration = profiles.front().shape(),
                  .planner = "test",
                  .actions = {HostCompute{.kernels = {2}, .at = {Trigger::On::AfterKernel, 1}},
                              HostCompute{.kernels = {3}, .at = {Trigger::On::AfterKernel, 2}}}};
  try {
    check_plans(experiment_, trace, {plan});
    FAIL() << "the plan is not refused";
  } catch (const UserError& error) {
    ASSERT_EQ(error.errors().size(), 2u) << error.what();  // k3's operand is not on the host, either
    EXPECT_EQ(error.errors().front().place, "gpu 0 /actions/0");
    EXPECT_EQ(error.errors().front().message,
              "the host would fault on what it computes with (and 1 more likewise); set workload.memory to device");
  }
}

// On explicit memory the same tensors are cudaMalloc's, which CUDA IPC shares.
TEST_F(PlanningTest, APlanDoesNotLetCudaIpcShareManagedMemory) {
  experiment_.workload.placement.ipc_kinds = "act";
  const trace::Trace trace = make_trace(experiment_);
  const auto outcome_on = [&](const char* memory) {
    experiment_.workload.placement.memory = memory;
    const Plan plan = move_x(profiles_of(experiment_, trace).front().front(), 2);
    ChildProcess child([&] { return to_json(run_planned(experiment_, trace, {plan}, {})); });
    return handed_over(child).outcome;
  };
  EXPECT_EQ(outcome_on("managed"), Outcome::IpcRefused);
  EXPECT_EQ(outcome_on("device"), Outcome::Completed);
}

TEST_F(PlanningTest, ARunSaysWhatItsPlansAre) {
  const trace::Trace trace = make_trace(experiment_);
  Plan plan = move_x(profiles_of(experiment_, trace).front().front(), 2);
  plan.feasible = false;
  plan.budget = Bytes{5};
  ChildProcess child([&] { return to_json(run_planned(experiment_, trace, {plan}, {})); });
  const Result result = handed_over(child);
  ASSERT_EQ(result.plan.plans.size(), 1u);
  const PlanSummary& summary = result.plan.plans.front();
  EXPECT_EQ(summary.gpu, "gpu0");
  EXPECT_EQ(summary.why, "a test");
  EXPECT_FALSE(summary.feasible);
  EXPECT_EQ(summary.budget_bytes, 5);
  ASSERT_EQ(summary.actions.size(), 1u);
  EXPECT_EQ(summary.actions.front().what, "move");
  EXPECT_EQ(summary.actions.front().bytes, kBytes);
}

}  // namespace
}  // namespace uvmsim
