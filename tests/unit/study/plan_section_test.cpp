// The coordinator in a config's "plan" section.
#include <gmock/gmock.h>

#include "base/user_error.h"
#include "study/planned_run.h"
#include "study/planning.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::HasSubstr;

std::string with_plan(const std::string& plan, const std::string& workload = R"("generator": "alexnet")") {
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
  const Experiment e = experiment_of(with_plan(
      R"("coordinator": "bidirectional_overlapping", "coordinator_options": {"scope": "pair", "holders": 2})"));
  EXPECT_EQ(parameter<std::string>(*e.plan.coordinator_options, "scope"), "pair");
  EXPECT_EQ(parameter<int>(*e.plan.coordinator_options, "holders"), 2);
}

TEST(PlanSection, CoordinatesNothingUnlessAsked) {
  EXPECT_EQ(experiment_of(with_plan(R"("speculate": true)")).plan.coordinator, "none");
}

TEST(PlanSection, NamesACoordinatorThatIsNear) {
  EXPECT_THAT(fault_of(with_plan(R"("coordinator": "prioritie")")), HasSubstr("did you mean \"priority\"?"));
}

TEST(PlanSection, RefusesParametersOfAnotherCoordinator) {
  EXPECT_THAT(fault_of(with_plan(R"("coordinator": "priority", "coordinator_options": {"holders": 2})")),
              HasSubstr("unknown key"));
}

TEST(PlanSection, CoordinatesExplicitMemoryOfReplicasOnly) {
  const std::string text = with_plan(R"("coordinator": "priority")");
  EXPECT_THAT(fault_of(text, {"workload.memory=managed"}), HasSubstr("workload.memory"));
  EXPECT_THAT(fault_of(text, {"workload.data_parallel=false"}), HasSubstr("workload.data_parallel"));
}

TEST(PlanSection, AShareOfZerosIsBetweenNoneAndAll) {
  EXPECT_EQ(sparsity_of(experiment_of(with_plan(R"("sparsity": 0.4)")).plan), 0.4);
  EXPECT_EQ(sparsity_of(experiment_of(with_plan(R"("codec": "zvc")")).plan), std::nullopt);
  EXPECT_THAT(fault_of(with_plan(R"("sparsity": 1.5)")), HasSubstr("1.5 is no share of zeros: expected 0 to 1, or -1"));
  EXPECT_THAT(fault_of(with_plan(R"("sparsity": -0.5)")),
              HasSubstr("-0.5 is no share of zeros: expected 0 to 1, or -1"));
}

TEST(PlanSection, NamesACodecThatIsNear) {
  EXPECT_THAT(fault_of(with_plan(R"("codec": "zvcc")")), HasSubstr("did you mean \"zvc\"?"));
  EXPECT_THAT(fault_of(with_plan(R"("codec": "binarize")")), HasSubstr("a planner has to choose it"));
}

// What moves, activations, is not what DeepSZ is for; and the driver encodes nothing.
TEST(PlanSection, ACodecTakesSomethingOfWhatMoves) {
  const std::string text = R"({"machine": {"extends": "machines/v100_pcie_16gb.json"}, "workload": {"generator":
    "alexnet", "memory": "device"}, "plan": {"planner": "vdnn", "mode": "all", "codec": "deepsz"}})";
  const auto fault = [&](const std::vector<std::string>& settings) -> std::string {
    try {
      const Experiment e = experiment_of(text, settings);
      make_plans(e, make_trace(e));
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(fault({}),
              HasSubstr("/plan/codec: deepsz takes none of the tensors that vdnn moves, which are of kind act"));
  EXPECT_THAT(fault({"workload.memory=managed"}), HasSubstr("/plan/codec: the driver encodes nothing"));
  EXPECT_EQ(fault({"plan.codec=zvc"}), "");
}

TEST(PlanSection, TurnsNeedForwardPasses) {
  EXPECT_THAT(fault_of(with_plan(R"("coordinator": "bidirectional_overlapping")", R"("generator": "vector_add")")),
              HasSubstr("no phase \"forward\""));
}

}  // namespace
}  // namespace uvmsim
