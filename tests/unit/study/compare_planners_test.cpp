// Planners beside each other: each plans and runs in a process of its own, and what several ask for is done once.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "study/compare.h"
#include "support/layer_chain.h"
#include "support/simulated.h"
#include "trace/writer.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::HasSubstr;

// The chain of layer_chain.h, 520 MiB, on a GPU with 400 MiB.
class ComparedPlanners : public testing::Test {
 protected:
  ComparedPlanners() {
    std::ofstream file(path_, std::ios::binary);
    write_trace(LayerChain{}.trace(), file);
  }
  ~ComparedPlanners() override { std::filesystem::remove(path_); }

  Experiment planned_by(const std::string& planner, const std::string& memory) const {
    return experiment_of(R"({"machine": {"extends": "machines/v100_pcie_16gb.json", "gpu": {"usable_memory":
      "400 MiB"}}, "workload": {"trace": ")" +
                         path_ + R"(", "memory": ")" + memory + R"("}, "plan": {"planner": ")" + planner +
                         R"("}, "run": {"warmup": 1, "iterations": 2}})");
  }

  Comparison compared(CompareOptions options) const {
    std::vector<PolicyExperiment> policies;
    for (const char* memory : {"device", "managed"})
      for (const std::string planner :
           {"tmo_like_online", "tmo_like_disjoint", "tmo_like_mip", "tmo_like_joint_mip", "sentinel", "swap_advisor"})
        policies.push_back({.policy = {.name = planner + memory, .description = "", .on_hardware = "", .settings = {}},
                            .experiment = planned_by(planner, memory)});
    return compare(planned_by("tmo_like_online", "device"), policies, options);
  }

  const std::string path_ = testing::TempDir() + "compare_planners_test_" + std::to_string(getpid()) + ".uvmtrace";
};

// Alone, two at a time, and with other orders of who does first what several ask for.
TEST_F(ComparedPlanners, GiveTheSameBytesHoweverManyRunAtATime) {
  const Comparison alone = compared({.processes = 1});
  for (const PolicyResult& of : alone.policies) EXPECT_TRUE(of.completed()) << of.policy.name << of.error;
  for (const int processes : {2, 5}) EXPECT_EQ(to_json(compared({.processes = processes})), to_json(alone));
}

// By hand: two memories, four results of which one did not complete.
TEST(Frontier, HasTheFastestOfEachFamilyWithEachMemory) {
  const auto point = [](const std::string& family, double duration_s) {
    MemoryPoint p{.result = Result{}};
    p.result->plan.family = family;
    p.result->duration_s = duration_s;
    return p;
  };
  MemoryPoint failed = point("recompute", 0.1);
  failed.result->outcome = Outcome::OutOfMemory;
  Comparison comparison;
  comparison.memories = {Bytes{1}, Bytes{2}};
  const auto add = [&](const std::string& name, std::vector<MemoryPoint> points) {
    comparison.policies.push_back({.policy = {.name = name, .description = "", .on_hardware = "", .settings = {}},
                                   .result = {},
                                   .error = {},
                                   .points = std::move(points)});
  };
  add("vdnn", {point("swap", 3), point("swap", 2)});
  add("g10", {point("swap", 4), point("swap", 1)});
  add("dtr", {failed, point("recompute", 1.5)});
  add("driver", {point("", 0.5), point("", 0.5)});
  std::vector<std::string> lines;
  for (const FrontierPoint& at : frontier_of(comparison))
    lines.push_back(std::to_string(at.memory) + " " + at.family + " " + at.policy->policy.name +
                    (at.fastest ? " <" : ""));
  EXPECT_THAT(lines, testing::ElementsAre("0 swap vdnn <", "1 recompute dtr", "1 swap g10 <"));
}

TEST_F(ComparedPlanners, HaveTheResultsThatTheyHaveByThemselves) {
  const Comparison comparison = compared({.processes = 2});
  ChildProcess alone([&] {
    const Experiment e = planned_by("sentinel", "managed");
    return to_json(run_experiment(e, make_trace(e)));
  });
  const std::optional<Result> result = result_from_json(alone.wait());
  const auto of = std::ranges::find(comparison.policies, "sentinelmanaged",
                                    [](const PolicyResult& p) -> const std::string& { return p.policy.name; });
  ASSERT_TRUE(result && of->completed());
  EXPECT_EQ(to_json(*result), to_json(*of->result));
}

// Recomputation frees what it makes again, which managed memory cannot: there is no such policy, which is no failure.
TEST_F(ComparedPlanners, OnManagedMemoryAreThoseThatItsCallsCanDo) {
  std::vector<PolicyExperiment> policies;
  const auto add = [&](const std::string& planner, const std::string& memory) {
    policies.push_back(
        {.policy = {.name = planner + ", " + memory, .description = "", .on_hardware = "copies", .settings = {}},
         .experiment = planned_by(planner, memory)});
  };
  add("dtr", "device"), add("dtr", "managed"), add("sentinel", "managed");
  const Comparison comparison = compare(planned_by("dtr", "device"), policies, {});
  ASSERT_EQ(comparison.policies.size(), 3u);
  EXPECT_TRUE(comparison.policies[0].completed());
  EXPECT_FALSE(comparison.policies[1].exists());
  EXPECT_TRUE(comparison.policies[2].completed());
  const std::string text = to_text(comparison);
  EXPECT_THAT(text,
              HasSubstr("There is no \"dtr, managed\": no call of managed memory frees what a kernel makes again.\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("failed")));
}

}  // namespace
}  // namespace uvmsim
