// Call policies and gates in whole runs: what they change against the same run without them.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// c = a + b over arrays of 16 MiB, twice after a warm-up, on a GPU with room for `room`.
Result run_with(const std::string& room, std::vector<std::string> settings, const std::string& driver = "418.40") {
  settings.insert(settings.begin(), {"machine.gpu.usable_memory=" + room, "driver.version=" + driver, "run.warmup=2",
                                     "run.iterations=2", "run.audit=true"});
  ChildProcess child([&] {
    return to_json(run_experiment(experiment_of(
        micro("v100_sxm2_16gb", R"("generator": "vector_add", "elements": 4194304, "read_back": false)"), settings)));
  });
  return result_from_json(child.wait()).value_or(Result{});
}

GpuCounts counts_of(const Result& result) { return result.gpus.at(0).counts; }

constexpr const char* kOperands = "workload.calls=operand_prefetch";
std::string when(const std::string& gate) { return "workload.call_options.operand_prefetch.when=" + gate; }

TEST(CallPolicyRuns, PrefetchedOperandsDoNotFaultWhenTheyFit) {
  const GpuCounts without = counts_of(run_with("24 MiB", {})), with = counts_of(run_with("24 MiB", {kOperands}));
  EXPECT_GT(without.fault_batches, 0);
  EXPECT_LT(with.fault_batches, without.fault_batches / 2);
}

// Everything fits and is there: three calls a kernel move nothing and cost at least a launch and an ioctl each.
TEST(CallPolicyRuns, NeedlessPrefetchesCostTime) {
  const Result without = run_with("64 MiB", {}), with = run_with("64 MiB", {kOperands});
  EXPECT_EQ(counts_of(with).h2d_bytes, 0);
  EXPECT_GT(with.duration_s, without.duration_s + 3 * 10e-6);
}

// The gates that judge at run time, and the static ones, leave the needless calls out: as fast as without.
TEST(CallPolicyRuns, PrefetchingOnlyWhenNeededCostsNothingInCore) {
  const double without = run_with("64 MiB", {}).duration_s;
  for (const char* gate : {"footprint", "shadow", "adaptive", "oracle"})
    EXPECT_NEAR(run_with("64 MiB", {kOperands, when(gate)}).duration_s, without, 1e-6) << gate;
}

TEST(CallPolicyRuns, PrefetchingOnlyWhenNeededStillPrefetchesWhenItIs) {
  const std::int64_t without = counts_of(run_with("32 MiB", {})).fault_batches;
  for (const char* gate : {"footprint", "shadow", "adaptive", "oracle"})
    EXPECT_LT(counts_of(run_with("32 MiB", {kOperands, when(gate)})).fault_batches, without) << gate;
}

TEST(CallPolicyRuns, EveryPolicyRunsCleanUnderPressure) {
  for (const std::string& name : call_policies().names()) {
    const Result result = run_with("32 MiB", {"workload.calls=" + name}, "590.44.01");
    EXPECT_EQ(result.outcome, Outcome::Completed) << name << ": " << result.detail;
  }
}

TEST(CallPolicyConfig, NamesAreCheckedAndOptionsBelongToTheNamed) {
  const std::string config = micro("v100_sxm2_16gb", R"("generator": "vector_add")");
  const auto faults_of = [&](const std::vector<std::string>& settings) {
    try {
      experiment_of(config, settings);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(faults_of({"workload.calls=discard,operand_prefetch"}), "");
  EXPECT_NE(faults_of({"workload.calls=discrad"}).find("did you mean \"discard\"?"), std::string::npos);
  EXPECT_NE(faults_of({"workload.calls=discard,discard"}).find("stands here twice"), std::string::npos);
  EXPECT_NE(faults_of({"workload.call_options.discard.mode=lazy"}).find("unknown key"), std::string::npos);
  EXPECT_NE(faults_of({"workload.calls=discard", "workload.call_options.discard.mode=quick"}).find("eager"),
            std::string::npos);
}

}  // namespace
}  // namespace uvmsim
