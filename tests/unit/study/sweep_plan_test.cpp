#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <unistd.h>

#include "study/sweep/plan.h"

namespace uvmsim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class SweepPlanTest : public testing::Test {
 protected:
  SweepPlanTest() { fs::create_directories(folder_); }
  ~SweepPlanTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  SweepPlan plan(std::vector<std::string> axes, std::vector<std::string> settings = {}) const {
    return SweepPlan({.config = config_,
                      .settings = std::move(settings),
                      .axes = std::move(axes),
                      .configs_folder = UVMSIM_SOURCE_DIR "/configs"});
  }
  std::string fault_of(std::vector<std::string> axes) const {
    try {
      plan(std::move(axes));
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

  std::string folder_ = testing::TempDir() + "sweep_plan_" + std::to_string(getpid());
  std::string config_ = UVMSIM_SOURCE_DIR "/configs/vector_add_v100.json";
};

TEST_F(SweepPlanTest, AxesMultiplyAndTheLastIsFastest) {
  const SweepPlan p = plan({"workload.elements=1000,2000", "run.warmup=0,1,2"});
  EXPECT_THAT(p.keys(), ElementsAre("workload.elements", "run.warmup"));
  ASSERT_EQ(p.points().size(), 6u);
  EXPECT_EQ(p.text_of(p.points()[0]), "workload.elements=1000 run.warmup=0");
  EXPECT_EQ(p.text_of(p.points()[1]), "workload.elements=1000 run.warmup=1");
  EXPECT_EQ(p.text_of(p.points()[5]), "workload.elements=2000 run.warmup=2");
  EXPECT_EQ(p.experiment(p.points()[4]).run.warmup, 1);
}

TEST_F(SweepPlanTest, KeysJoinedAreOneAxis) {
  const SweepPlan p = plan({"workload.elements=1000,2000 & run.warmup=3,4"});
  ASSERT_EQ(p.points().size(), 2u);
  EXPECT_EQ(p.text_of(p.points()[1]), "workload.elements=2000 run.warmup=4");
}

// A point is what it simulates: "51" is the default, however it was asked for.
TEST_F(SweepPlanTest, PointsAreKnownByTheirResolvedConfig) {
  const SweepPlan p = plan({"driver.uvm_perf_prefetch_threshold=51,52"});
  const SweepPlan other = plan({"run.iterations=4,2"}, {"driver.uvm_perf_prefetch_threshold=52"});
  EXPECT_NE(p.points()[0].hash, p.points()[1].hash);
  EXPECT_EQ(p.points()[0].hash.size(), 16u);
  const SweepPlan renamed = plan({"driver.uvm_perf_prefetch_threshold=51,52"}, {"name=other", "description=x"});
  EXPECT_EQ(renamed.points()[1].hash, p.points()[1].hash);
  const std::string default_iterations = std::to_string(p.experiment(p.points()[0]).run.iterations);
  const SweepPlan same = plan({"run.iterations=" + default_iterations}, {"driver.uvm_perf_prefetch_threshold=52"});
  EXPECT_EQ(same.points()[0].hash, p.points()[1].hash);
  EXPECT_NE(other.points()[0].hash, other.points()[1].hash);
}

TEST_F(SweepPlanTest, TheContentOfATraceCounts) {
  const std::string trace = write("a.uvmtrace", "one\n");
  const auto hash = [&] { return plan({"workload=" + trace}).points()[0].hash; };
  const std::string before = hash();
  write("a.uvmtrace", "two\n");
  EXPECT_NE(hash(), before);
}

TEST_F(SweepPlanTest, NamesStandForMachinesAndWorkloads) {
  const SweepPlan p =
      plan({"machine=v100_pcie_16gb,a100_40gb", "workload=vector_add,stream_triad"}, {"machine.gpus=1"});
  ASSERT_EQ(p.points().size(), 4u);
  EXPECT_THAT(p.experiment(p.points()[0]).machine.name, HasSubstr("V100"));
  EXPECT_THAT(p.experiment(p.points()[2]).machine.name, HasSubstr("A100"));
  EXPECT_EQ(p.experiment(p.points()[3]).workload.generator, "stream_triad");
}

// A part of the machine comes after the whole one, whichever axis is first.
TEST_F(SweepPlanTest, NamesStandForGpusToo) {
  const SweepPlan p = plan({"machine.gpu=l40s,t4", "machine=a100_40gb"}, {"machine.gpus=1"});
  ASSERT_EQ(p.points().size(), 2u);
  EXPECT_EQ(p.experiment(p.points()[0]).machine.gpus[GpuIndex{0}].name, "L40S");
  EXPECT_EQ(p.experiment(p.points()[1]).machine.gpus[GpuIndex{0}].name, "Tesla T4");
}

// The file's keys win over --set, and lose against the point's own.
TEST_F(SweepPlanTest, APolicyIsASetOfKeys) {
  const std::string calm =
      write("calm.json", R"({"set": {"run.warmup": 7, "driver.uvm_perf_prefetch_threshold": 90}})");
  const SweepPlan p = plan({"policy=" + calm, "run.warmup=1,2"}, {"driver.uvm_perf_prefetch_threshold=3"});
  const Experiment second = p.experiment(p.points()[1]);
  EXPECT_EQ(second.run.warmup, 2);
  EXPECT_EQ(second.machine.driver.uvm_perf_prefetch_threshold, 90);
  const std::string broken = write("broken.json", R"({"keys": {}})");
  EXPECT_THAT(fault_of({"policy=" + broken}), HasSubstr("expected a policy"));
}

TEST_F(SweepPlanTest, AConfigHasAxesThatTheCommandLineReplaces) {
  const std::string base = config_;
  config_ = write("own.json", R"({"extends": ")" + base + R"(", "sweep": ["run.warmup=1,2", "run.iterations=2,4"]})");
  EXPECT_EQ(plan({}).points().size(), 4u);
  const SweepPlan p = plan({"run.iterations=2,4,6", "workload.elements=1000"});
  EXPECT_THAT(p.keys(), ElementsAre("run.warmup", "run.iterations", "workload.elements"));
  EXPECT_EQ(p.points().size(), 6u);
  EXPECT_EQ(read_experiment(config_).run.warmup, read_experiment(base).run.warmup);
  config_ = write("wrong.json", R"({"extends": ")" + base + R"(", "sweep": {"run.warmup": [1]}})");
  EXPECT_THAT(fault_of({}), HasSubstr("expected a list of axes"));
}

TEST_F(SweepPlanTest, TellsAllFaultsOfAllPointsOnce) {
  EXPECT_THAT(fault_of({"run.warmp=1,2", "driver.uvm_perf_prefetch_threshold=51,500"}),
              AllOf(HasSubstr("2 errors"), HasSubstr("did you mean"), HasSubstr("0..100")));
  EXPECT_THAT(fault_of({"machine=v100_pcie_16bg"}), HasSubstr("did you mean \"v100_pcie_16gb\"?"));
  EXPECT_THAT(fault_of({"run.warmup=1", "run.warmup=2"}), HasSubstr("two axes have run.warmup"));
  EXPECT_THAT(fault_of({"run.warmup=range(1,2000)", "run.iterations=range(2,2000)"}), HasSubstr("1000000 points"));
  EXPECT_THAT(fault_of({}), HasSubstr("nothing to sweep"));
}

}  // namespace
}  // namespace uvmsim
