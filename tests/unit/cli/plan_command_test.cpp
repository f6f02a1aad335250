#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "cli/program.h"
#include "plan/plan_json.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "uvmsim_" + name;
  std::ofstream(path) << text;
  return path;
}

// ResNet-50 at batch 8, which needs more than the 700 MB that kSmall leaves it.
std::string config() {
  const std::string machines = std::string(UVMSIM_SOURCE_DIR) + "/configs/machines/";
  return written("plan.json", R"({"machine": {"extends": ")" + machines + R"(v100_pcie_16gb.json"},
    "workload": {"generator": "resnet50", "batch": 8, "memory": "device"},
    "plan": {"planner": "tmo_like_online"}, "run": {"warmup": 1, "iterations": 2}})");
}

struct Answer {
  ExitCode exit;
  std::string out, err;
};
Answer ask(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const ExitCode exit = run_program(arguments, out, err);
  return {exit, out.str(), err.str()};
}

const std::vector<std::string> kSmall = {"--set", "machine.gpu.usable_memory=700 MB"};

TEST(PlanCommand, PrintsPlansThatReadBack) {
  std::vector<std::string> arguments = {"plan", config()};
  arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
  const Answer answer = ask(arguments);
  ASSERT_EQ(answer.exit, ExitCode::Done) << answer.err;
  const PlanFile file = read_plans(answer.out, "plan");
  ASSERT_EQ(file.plans.size(), 1u);
  EXPECT_GT(file.plans[0].actions.size(), 0u);
  EXPECT_EQ(to_json(file), answer.out);
}

TEST(PlanCommand, ARunUnderAPlanThatDoesNotFitIsRefused) {
  std::vector<std::string> arguments = {"plan", config()};
  arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
  const std::string plan = written("b8.plan", ask(arguments).out);
  const Answer answer = ask({"run", config(), "--plan", plan, "--set", "workload.batch=4", "--no-in-core", "--quiet"});
  EXPECT_EQ(answer.exit, ExitCode::InputError);
  EXPECT_THAT(answer.err, HasSubstr(" holds "));
}

TEST(PlanCommand, DiffSaysWhereTwoFilesDiffer) {
  PlanFile file{"net", {{.gpu = GpuIndex{0}, .iteration = {1, 0, 1}, .planner = "one"}}};
  const std::string a = written("a.plan", to_json(file));
  EXPECT_EQ(ask({"plan", "diff", a, a}).exit, ExitCode::Done);
  file.plans[0].planner = "two";
  const Answer answer = ask({"plan", "diff", a, written("b.plan", to_json(file))});
  EXPECT_EQ(answer.exit, ExitCode::CheckFailed);
  EXPECT_THAT(answer.out, HasSubstr("- gpu0"));
  EXPECT_THAT(answer.out, HasSubstr("+ gpu0"));
  EXPECT_THAT(ask({"plan", "diff", a, a, "--json"}).out, HasSubstr("\"differences\": []"));
}

TEST(PlanCommand, AnUnknownPlannerIsAFaultWithWhatWasMeant) {
  const Answer answer = ask({"plan", config(), "--set", "plan.planner=lms_lik"});
  EXPECT_EQ(answer.exit, ExitCode::InputError);
  EXPECT_THAT(answer.err, HasSubstr("did you mean \"lms_like\"?"));
}

}  // namespace
}  // namespace uvmsim
