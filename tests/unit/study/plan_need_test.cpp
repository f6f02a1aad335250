// The smallest memory that plans fit into, and the largest workload that fits with them.
#include "study/plan_need.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/user_error.h"
#include "study/compare.h"
#include "study/planning.h"
#include "support/layer_chain.h"
#include "support/simulated.h"
#include "support/sizes.h"
#include "trace/writer.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The chain of layer_chain.h: 8 weights of 1 MiB and 8 activations of 64 MiB.
class PlanNeedOfAChain : public testing::Test {
 protected:
  PlanNeedOfAChain() {
    std::ofstream file(path_, std::ios::binary);
    write_trace(LayerChain{}.trace(), file);
  }
  ~PlanNeedOfAChain() override { std::filesystem::remove(path_); }

  Experiment planned_by(const std::string& planner) const {
    return experiment_of(R"({"machine": {"extends": "machines/v100_pcie_16gb.json"}, "workload": {"trace": ")" + path_ +
                         R"(", "memory": "device"}, "plan": {"planner": ")" + planner +
                         R"("}, "run": {"warmup": 1, "iterations": 2}})");
  }

  const std::string path_ = testing::TempDir() + "plan_need_test_" + std::to_string(getpid()) + ".uvmtrace";
};

// When the forward pass ends all 8 (64 + 1) = 520 MiB are held. A reactive plan needs what one kernel does: a backward
// kernel its weight and two activations, and the one freed before it still counts: 1 + 3 x 64 = 193 MiB. Steps are of
// 5.2 MiB, and 37 of them are 192.4 MiB.
TEST_F(PlanNeedOfAChain, IsTheFirstStepWithWhichThePlanFits) {
  const Experiment e = planned_by("lms_like");
  const trace::Trace trace = make_trace(e);
  const PlanNeed need = plan_need(e, trace);
  EXPECT_EQ(need.unplanned_bytes, 520 * kMiB);
  constexpr std::int64_t kStep = 520 * kMiB / 100;
  EXPECT_EQ(need.need_bytes, 38 * kStep);
  EXPECT_TRUE(plans_fit(with_memory(e, Bytes{need.need_bytes}), trace));
  EXPECT_FALSE(plans_fit(with_memory(e, Bytes{need.need_bytes - kStep}), trace));
}

// More than one kernel needs, less than the whole iteration.
TEST_F(PlanNeedOfAChain, IsLessThanWithoutAPlan) {
  for (const char* planner : {"vdnn", "tmo_like_online", "sentinel", "tmo_like_mip"}) {
    const Experiment e = planned_by(planner);
    const PlanNeed need = plan_need(e, make_trace(e));
    EXPECT_GE(need.need_bytes, 193 * kMiB) << planner;
    EXPECT_LT(need.need_bytes, 520 * kMiB) << planner;
  }
}

// It moves optimizer state to an SSD, and the machine has none.
TEST_F(PlanNeedOfAChain, IsUnknownWhereNoPlanFitsAtAll) {
  const Experiment e = planned_by("zero_infinity");
  const PlanNeed need = plan_need(e, make_trace(e));
  EXPECT_EQ(need.need_bytes, 0);
  EXPECT_THAT(to_text(need, e), HasSubstr("zero_infinity has no plan that fits"));
}

TEST_F(PlanNeedOfAChain, TheSameQuestionHasTheSameAnswer) {
  const Experiment e = planned_by("swap_advisor");
  EXPECT_EQ(to_json(plan_need(e, make_trace(e)), e), to_json(plan_need(e, make_trace(e)), e));
}

const std::string kSmallResNet =
    R"({"machine": {"extends": "machines/v100_pcie_16gb.json", "gpu": {"usable_memory": "2 GB"}},
  "workload": {"generator": "resnet50", "batch": 16, "memory": "device"}, "plan": {"planner": "tflms"},
  "run": {"warmup": 1, "iterations": 1}})";

TEST(LargestThatFits, IsTheLastBatchWithAndWithoutAPlan) {
  const Experiment e = experiment_of(kSmallResNet);
  const LargestValue batch = largest_that_fits(e, "batch");
  EXPECT_GT(batch.planned, batch.unplanned);
  const auto with_batch = [](std::int64_t n) {
    return experiment_of(kSmallResNet, {"workload.batch=" + std::to_string(n)});
  };
  const auto held = [&](std::int64_t n) {
    const Experiment of = with_batch(n);
    return unplanned_bytes(of, make_trace(of));
  };
  EXPECT_LE(held(batch.unplanned), 2'000'000'000);
  EXPECT_GT(held(batch.unplanned + 1), 2'000'000'000);
  const Experiment last = with_batch(batch.planned), next = with_batch(batch.planned + 1);
  EXPECT_TRUE(plans_fit(last, make_trace(last)));
  EXPECT_FALSE(plans_fit(next, make_trace(next)));
}

TEST(LargestThatFits, IsOfAWholeNumberOfTheGenerator) {
  const Experiment e = experiment_of(kSmallResNet);
  EXPECT_THAT([&] { largest_that_fits(e, "dtype"); },
              ThrowsMessage<UserError>(HasSubstr("the generator has no whole number \"dtype\"")));
}

TEST(MemoryAmounts, AreSharesOrSizes) {
  EXPECT_EQ(parse_memory_amount("0.5")->share, 0.5);
  EXPECT_EQ(parse_memory_amount("8GB")->bytes, Bytes{8'000'000'000});
  for (const char* none : {"", "0", "-1", "60", "0 GB", "8 Gb", "half"})
    EXPECT_FALSE(parse_memory_amount(none)) << none;
}

}  // namespace
}  // namespace uvmsim
