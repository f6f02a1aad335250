#include "plan/plan_choices.h"

#include <gmock/gmock.h>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TensorInterval kFirst{.tensor = 1, .last_use = 2, .next_use = 9, .bytes = 1 << 20};
constexpr TensorInterval kSecond{.tensor = 4, .last_use = 3, .next_use = 8, .bytes = 2 << 20};

Plan plan(std::string planner, std::vector<Action> actions) {
  return {.iteration = {.kernels = 10}, .planner = std::move(planner), .actions = std::move(actions)};
}
Move moved(const TensorInterval& of, std::string codec = "") { return {.of = of, .codec = std::move(codec)}; }
Recompute made_again(const TensorInterval& of) { return {.before = of.next_use, .kernels = {1}, .tensors = {of}}; }

std::string family(std::vector<Action> actions) {
  const Plan p = plan("", std::move(actions));
  return family_of({&p, 1});
}

TEST(PlanFamily, IsWhatThePlanDoes) {
  EXPECT_EQ(family({}), "swap");
  EXPECT_EQ(family({moved(kFirst)}), "swap");
  EXPECT_EQ(family({made_again(kFirst)}), "recompute");
  EXPECT_EQ(family({Encode{.of = kFirst, .codec = "ssdc"}}), "compress");
  EXPECT_EQ(family({moved(kFirst, "zvc")}), "compress");
  EXPECT_EQ(family({moved(kFirst), made_again(kSecond)}), "hybrid");
  EXPECT_EQ(family({moved(kFirst), Encode{.of = kSecond, .codec = "ssdc"}}), "hybrid");
}

// What a codec would not make smaller travels as it is.
TEST(PlanFamily, OfMovesOfWhichSomeAreEncodedIsCompress) {
  EXPECT_EQ(family({moved(kFirst, "zvc"), moved(kSecond)}), "compress");
}

// 1 MiB as it is; 2 and 1 MiB by the codec; the segment frees 2 MiB.
TEST(ActionCounts, AddUpActionsThatDoTheSame) {
  const std::map<std::string, ActionCount> counts =
      action_counts(plan("", {moved(kFirst), moved(kSecond, "zvc"), moved(kFirst, "zvc"), made_again(kSecond)}));
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts.at("move").actions, 1);
  EXPECT_EQ(counts.at("move by zvc").actions, 2);
  EXPECT_EQ(counts.at("move by zvc").bytes, 3 << 20);
  EXPECT_EQ(counts.at("recompute").bytes, 2 << 20);
}

TEST(PlanChoices, SayPerTensorWhoChoseWhat) {
  const PlanFile a{.workload = "", .plans = {plan("vdnn", {moved(kFirst), moved(kSecond, "zvc")})}};
  const PlanFile b{.workload = "", .plans = {plan("dtr", {made_again(kFirst)})}};
  EXPECT_THAT(choices_diff(a, b), ElementsAre("gpu0 tensor 1 after kernel 2, 1.049 MB: vdnn move, dtr recompute",
                                              "gpu0 tensor 4 after kernel 3, 2.097 MB: vdnn move by zvc, dtr keep",
                                              "vdnn move by zvc, dtr keep: 1 interval, 2.097 MB",
                                              "vdnn move, dtr recompute: 1 interval, 1.049 MB"));
}

TEST(PlanChoices, AreTheSameWhereTheTimesOfCopiesDiffer) {
  Move later = moved(kFirst);
  later.in.at = {Trigger::On::BeforeKernel, 7};
  const PlanFile a{.workload = "", .plans = {plan("vdnn", {moved(kFirst)})}};
  const PlanFile b{.workload = "", .plans = {plan("g10", {later})}};
  EXPECT_THAT(choices_diff(a, b), IsEmpty());
}

}  // namespace
}  // namespace uvmsim
