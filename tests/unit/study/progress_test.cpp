// How far work in other processes is, and its end before that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "study/planning.h"
#include "study/planning_progress.h"
#include "study/shared_object.h"
#include "study/sweep/point_workers.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::Ge;
using testing::Le;

TEST(Progress, OfAChildIsTheMostThatItSaid) {
  ChildProcess child([] {
    tell_share(0.5);
    tell_share(0.25);
    return std::string();
  });
  child.wait();
  EXPECT_EQ(child.share(), 0.5);
  tell_share(0.75);  // this process has nobody to tell
}

// One iteration of more than 100 kernels, without faults: the last that is told of is one of the last 15.
TEST(Progress, IsToldWithinAnIteration) {
  const Experiment experiment = experiment_of(R"({
    "machine": {"extends": "machines/v100_pcie_16gb.json"}, "driver": {"version": "418.40"},
    "workload": {"generator": "resnet_cifar", "depth": 20, "batch": 2, "memory": "device"},
    "run": {"warmup": 0, "iterations": 1}})");
  ChildProcess child([&] { return to_json(run_experiment(experiment)); });
  EXPECT_EQ(handed_over(child).outcome, Outcome::Completed);
  EXPECT_THAT(child.share(), AllOf(Ge(0.85), Le(1.0)));
}

// Two at a time would work; the first that ends is the last.
TEST(Progress, StopsBeforePointsThatAreLeft) {
  std::vector<PointOutcome> outcomes;
  run_points(
      8, [](std::size_t) { return std::string(R"({"outcome": "completed", "detail": ""})"); }, 1, {},
      [&](const PointOutcome& outcome) { outcomes.push_back(outcome); },
      {.progress = {}, .stopped = [&] { return !outcomes.empty(); }});
  std::set<std::size_t> noted;
  for (const PointOutcome& outcome : outcomes) EXPECT_TRUE(noted.insert(outcome.point).second);
  EXPECT_EQ(noted.size(), 8u);
  EXPECT_EQ(outcomes.front().outcome, "completed");
  EXPECT_EQ(outcomes.back().error, "interrupted");
}

// 4 simulations of which one has ended and one is half way are 1.5 of 4; the next one begins at 0. Then the planner
// works again: steps 1, 2 and 3 are simulations, the planner, simulations.
TEST(Progress, OfPlansIsThatOfTheStepThatBeganLast) {
  PlanningProgress progress;
  EXPECT_EQ(progress.shown().share, std::nullopt);
  {
    const auto waiting = progress.simulate(4);
    const auto first = progress.told(), second = progress.told();
    first(0.25, {});
    first(1, {});
    progress.simulation_ended();
    second(0.5, {});
    EXPECT_EQ(progress.shown().share, 0.375);
    EXPECT_EQ(progress.shown().text, "planning: 1/4 simulations, 1 in all");
  }
  EXPECT_EQ(progress.shown().share, std::nullopt);
  {
    const auto waiting = progress.simulate(1);
    EXPECT_EQ(progress.shown().share, 0);
    EXPECT_EQ(progress.shown().text, "planning: 0/1 simulations, 1 in all");
    EXPECT_EQ(progress.shown().number, 3);
  }
  const auto waiting = progress.solve(1e9);
  EXPECT_THAT(progress.shown().text, testing::HasSubstr(" s, at most 1000000000 s of processor time"));
}

// tmo_like_shared simulates what it might plan, vdnn does not.
TEST(Progress, IsToldByPlannersThatSimulate) {
  const auto steps_of = [](const std::string& planner) {
    const Experiment experiment = experiment_of(R"({
      "machine": {"extends": "machines/v100_pcie_16gb.json", "gpu": {"usable_memory": "24 MiB"}},
      "driver": {"version": "418.40"},
      "workload": {"generator": "resnet_cifar", "depth": 20, "batch": 16, "memory": "device"},
      "run": {"warmup": 0, "iterations": 1}, "plan": {"planner": ")" +
                                                planner + R"("}})");
    const SharedObject<PlanningProgress> progress;
    make_plans(experiment, make_trace(experiment), &*progress);
    EXPECT_EQ(progress->shown().share, std::nullopt) << "the planner's own work comes last";
    return progress->shown().number;
  };
  EXPECT_GT(steps_of("tmo_like_shared"), 1);
  EXPECT_EQ(steps_of("vdnn"), 0);
}

}  // namespace
}  // namespace uvmsim
