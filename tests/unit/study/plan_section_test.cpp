// The coordinator in a config's "plan" section.
#include <gmock/gmock.h>

#include "base/user_error.h"
#include "study/planning.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::HasSubstr;

std::string config(const std::string& plan, const std::string& workload = R"("generator": "alexnet")") {
  return R"({"machine": {"extends": "machines/v100_pcie_x4_single_root.json"}, "workload": {)" + workload +
         R"(, "memory": "device", "data_parallel": true}, "plan": {"planner": "lms_like", )" + plan + "}}";
}

std::string fault_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    const Experiment e = experiment_of(text, settings);
    run_planned(e, make_trace(e), {}, {.progress = {}});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanSection, ReadsTheCoordinatorWithItsParameters) {
  const Experiment e = experiment_of(
      config(R"("coordinator": "bidirectional_overlapping", "coordinator_options": {"scope": "pair", "holders": 2})"));
  EXPECT_EQ(parameter<std::string>(*e.plan.coordinator_options, "scope"), "pair");
  EXPECT_EQ(parameter<int>(*e.plan.coordinator_options, "holders"), 2);
}

TEST(PlanSection, CoordinatesNothingUnlessAsked) {
  EXPECT_EQ(experiment_of(config(R"("speculate": true)")).plan.coordinator, "none");
}

TEST(PlanSection, NamesACoordinatorThatIsNear) {
  EXPECT_THAT(fault_of(config(R"("coordinator": "prioritie")")), HasSubstr("did you mean \"priority\"?"));
}

TEST(PlanSection, RefusesParametersOfAnotherCoordinator) {
  EXPECT_THAT(fault_of(config(R"("coordinator": "priority", "coordinator_options": {"holders": 2})")),
              HasSubstr("unknown key"));
}

TEST(PlanSection, CoordinatesExplicitMemoryOfReplicasOnly) {
  const std::string text = config(R"("coordinator": "priority")");
  EXPECT_THAT(fault_of(text, {"workload.memory=managed"}), HasSubstr("workload.memory"));
  EXPECT_THAT(fault_of(text, {"workload.data_parallel=false"}), HasSubstr("workload.data_parallel"));
}

TEST(PlanSection, TurnsNeedForwardPasses) {
  EXPECT_THAT(fault_of(config(R"("coordinator": "bidirectional_overlapping")", R"("generator": "vector_add")")),
              HasSubstr("no phase \"forward\""));
}

}  // namespace
}  // namespace uvmsim
