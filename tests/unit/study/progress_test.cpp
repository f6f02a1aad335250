// How far work in other processes is, and its end before that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <vector>

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

}  // namespace
}  // namespace uvmsim
