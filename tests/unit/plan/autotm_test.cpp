// Eight layers of 64 MiB of activations and 1 MiB of weights: kernels 0 .. 7 forward, 10 ms each, 8 .. 15 backward, 20
// ms each; the activation of layer l is tensor 8 + l, used by kernels l, l + 1, 14 - l and 15 - l. At most 8 x 64 + 8
// MiB are held, by kernels 7, 8 and 9.
#include <gmock/gmock.h>

#include "support/layer_chain.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Answers with the binaries named; the slots' times are left at 0.
class Solver final : public NoServices {
 public:
  explicit Solver(std::vector<std::string> ones) : ones_(std::move(ones)) {}
  std::optional<MipSolution> solve(const MipModel& model, const MipLimits&,
                                   const std::vector<std::pair<std::size_t, bool>>&) override {
    variables_ = model.binaries();
    MipSolution solution{.status = MipSolution::Status::Optimal};
    for (const MipVariable& v : model.variables())
      solution.values.push_back(std::ranges::find(ones_, v.name) != ones_.end() ? 1 : 0);
    return solution;
  }
  std::size_t variables_ = 0;

 private:
  std::vector<std::string> ones_;
};

TEST(AutoTm, WithoutASolverIsTheOnlineHeuristics) {
  const Profile profile = LayerChain{.weight = kMiB / 2}.profile(400 * kMiB);
  const Plan plan = plan_by(*planner_named("autotm"), profile);
  EXPECT_THAT(plan.why, HasSubstr("there is no solver"));
  EXPECT_TRUE(plan.feasible);
  expect_proved(profile, plan);
}

// Interval 0 is that of the activation of layer 0, from slot 1 to slot 14 (each kernel is one). Its copy out runs
// beside kernel 3, the one in beside kernel 12: they start when kernels 2 and 11 end.
TEST(AutoTm, CopiesRunBesideTheSlotsThatTheSolutionNames) {
  const Profile profile = LayerChain{.weight = kMiB / 2}.profile(400 * kMiB);
  Solver solver({"x_0", "o_0_3", "q_0_12"});
  const Plan plan = planner_named("autotm")->plan({&profile, 1}, solver).front();
  const std::vector<Move> moves = actions_of<Move>(plan);
  ASSERT_THAT(moves, SizeIs(1));
  EXPECT_EQ(moves[0].of, (TensorInterval{8, 1, 14, 64 * kMiB}));
  EXPECT_EQ(moves[0].out, (Transfer{{Trigger::On::AfterKernel, 2}, Sync::Stream}));
  EXPECT_EQ(moves[0].in, (Transfer{{Trigger::On::AfterKernel, 11}, Sync::Stream}));
  EXPECT_FALSE(plan.feasible);  // one is not enough
}

// One binary for each interval, and for each place of a copy besides where copies run beside kernels.
TEST(AutoTm, SynchronousCopiesHoldUpTheProgram) {
  const Profile profile = LayerChain{.weight = kMiB / 2}.profile(400 * kMiB);
  const auto planner = planner_named("autotm");
  Solver beside({}), between({"x_0"});
  planner->plan({&profile, 1}, beside);
  parameter<std::string>(*planner, "mode") = "synchronous";
  const Plan plan = planner->plan({&profile, 1}, between).front();
  EXPECT_GT(beside.variables_, 5 * between.variables_);
  const std::vector<Move> moves = actions_of<Move>(plan);
  ASSERT_THAT(moves, SizeIs(1));
  EXPECT_EQ(moves[0].out.sync, Sync::Host);
  EXPECT_EQ(moves[0].in, (Transfer{{Trigger::On::BeforeKernel, 14}, Sync::Host}));
}

TEST(AutoTm, SaysThatThereIsNoSuchNode) {
  const auto planner = planner_named("autotm");
  parameter<std::string>(*planner, "to") = "optane7";
  const Plan plan = plan_by(*planner, LayerChain{.weight = kMiB / 2}.profile(400 * kMiB));
  EXPECT_FALSE(plan.feasible);
  EXPECT_THAT(plan.why, HasSubstr("no memory node \"optane7\""));
}

}  // namespace
}  // namespace uvmsim
