// Call policies and gates in whole runs: what they change against the same run without them.
#include <gtest/gtest.h>

#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;

Result run_of(const std::string& config, std::vector<std::string> settings) {
  settings.insert(settings.begin(), {"run.warmup=2", "run.iterations=2", "run.audit=true"});
  ChildProcess child([&] { return to_json(run_experiment(experiment_of(config, settings))); });
  return result_from_json(child.wait()).value_or(Result{});
}

// c = a + b over arrays of 16 MiB, which fit.
Result in_core(const std::vector<std::string>& settings) {
  return run_of(micro("v100_sxm2_16gb", R"("generator": "vector_add", "elements": 4194304, "read_back": false)"),
                settings);
}

// AlexNet at batch 64 holds 1.17 GB and needs 0.97 of it; the GPU has 1 GiB. Each kernel's operands fit.
Result oversubscribed(std::vector<std::string> settings, const std::string& driver = "418.40") {
  settings.insert(settings.begin(), "machine.gpu.usable_memory=1 GiB");
  return run_of(R"({"machine": {"extends": "machines/v100_sxm2_16gb.json"}, "driver": {"version": ")" + driver +
                    R"("}, "workload": {"generator": "alexnet", "batch": 64, "allocator": "torch_1_0"}})",
                settings);
}

GpuCounts counts_of(const Result& result) { return result.gpus.at(0).counts; }

constexpr const char* kOperands = "workload.calls=operand_prefetch";
std::string when(const std::string& gate) { return "workload.call_options.operand_prefetch.when=" + gate; }

TEST(CallPolicyRuns, PrefetchedOperandsDoNotFault) {
  EXPECT_GT(counts_of(oversubscribed({})).fault_batches, 100);
  EXPECT_EQ(counts_of(oversubscribed({kOperands})).fault_batches, 0);
}

// Everything is there: three calls a kernel move nothing and cost at least a launch and an ioctl of 5 us each.
TEST(CallPolicyRuns, NeedlessPrefetchesCostTime) {
  const Result without = in_core({}), with = in_core({kOperands});
  EXPECT_EQ(counts_of(with).h2d_bytes, 0);
  EXPECT_GT(with.duration_s, without.duration_s + 3 * 10e-6);
}

// The gates leave the needless calls out: as fast as without.
TEST(CallPolicyRuns, PrefetchingOnlyWhenNeededCostsNothingInCore) {
  const double without = in_core({}).duration_s;
  for (const char* gate : {"footprint", "shadow", "oracle"})
    EXPECT_NEAR(in_core({kOperands, when(gate)}).duration_s, without, 1e-6) << gate;
}

// A batch costs several times what a call does, so that prefetching pays. The shadow knows what
// was used last, not what the driver evicted: it leaves more to faults.
TEST(CallPolicyRuns, PrefetchingOnlyWhenNeededStillPrefetchesWhenItIs) {
  const std::string dear = "machine.gpu.driver_costs.batch=50 us";
  const std::int64_t without = counts_of(oversubscribed({dear})).fault_batches;
  const auto with = [&](const char* gate) {
    return counts_of(oversubscribed({dear, kOperands, when(gate)})).fault_batches;
  };
  for (const char* gate : {"footprint", "oracle"}) EXPECT_LT(with(gate), without / 2) << gate;
  EXPECT_LT(with("shadow"), without * 2 / 3);
}

// Freed tensors do not come back: of 0.88 GB a default iteration brings in, more than half was dead.
TEST(CallPolicyRuns, DiscardedTensorsAreNotMoved) {
  const GpuCounts without = counts_of(oversubscribed({}, "590.44.01")),
                  with = counts_of(oversubscribed({"workload.calls=discard"}, "590.44.01"));
  EXPECT_GT(without.dead_h2d_bytes, 0);
  EXPECT_LT(with.dead_h2d_bytes, without.dead_h2d_bytes / 10);
  EXPECT_LT(with.h2d_bytes, without.h2d_bytes);
}

TEST(CallPolicyRuns, EveryPolicyRunsCleanUnderPressure) {
  for (const std::string& name : call_policies().names()) {
    const Result result = oversubscribed({"workload.calls=" + name}, "590.44.01");
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
  EXPECT_NE(faults_of({"workload.calls=discard,discard"}).find("is named twice"), std::string::npos);
  EXPECT_NE(faults_of({"workload.call_options.discard.mode=lazy"}).find("unknown key"), std::string::npos);
  EXPECT_NE(faults_of({"workload.calls=discard", "workload.call_options.discard.mode=quick"}).find("eager"),
            std::string::npos);
}

}  // namespace
}  // namespace uvmsim
