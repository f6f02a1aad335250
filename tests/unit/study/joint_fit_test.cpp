// Joint fits whose answer is known: predictions that are step times themselves, so that everything is linear in
// logarithms.
#include "study/calibration/joint_fit.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

namespace uvmsim {
namespace {

// Two steps, of which the second is not fitted; host "known" has measured the sum of what `of` says, "stranger"
// nothing.
JointProblem problem(double measured, std::function<double(const StepTimes&)> of) {
  const JointPredict predict = [of](const std::vector<JointQuery>& queries) {
    std::vector<std::vector<double>> all;
    for (const JointQuery& query : queries) all.push_back({of(query.times)});
    return all;
  };
  return {.steps = {{"batch", 10e-6, true}, {"interrupt", 4e-6, false}},
          .hosts = {{"known", "server", 1.0, {{"a batch", measured, 1e-6}}},
                    {"stranger", "desktop", 0.5, {}},
                    {"alike", "server", 1.0, {}}},
          .prior = {.common = 0.7, .kind = 0.4, .slowness = 0.3, .own = 0.3},
          .predict = predict,
          .slope = predict};
}

double batch(const StepTimes& times) { return times[0]; }

// Measured is twice the prior: ln 2 is shared out as the prior variances are, 0.49 to common, 0.09 to slowness and 0.09
// to the host's own. The stranger gets the common part: 10 us x 0.5 x 2^(0.49 / 0.67) = 8.30 us.
TEST(JointFit, AStrangerBorrowsWhatIsCommon) {
  const JointFit fit = fit_jointly(problem(20e-6, batch));
  EXPECT_NEAR(fit.times[0][0], 20e-6, 1e-9);
  EXPECT_NEAR(fit.common[0], 10e-6 * std::pow(2, 0.49 / 0.83), 1e-9);
  EXPECT_NEAR(fit.slowness[0], std::pow(2, 0.09 / 0.83), 1e-4);
  EXPECT_NEAR(fit.slowness[1], 0.5, 1e-9);
  EXPECT_NEAR(fit.times[1][0], 7.53e-6, 1e-8);
  EXPECT_NEAR(fit.times[2][0], 17.2e-6, 1e-7);
}

// What is not fitted follows the host's slowness: 4 us x 2^(0.09 / 0.83) = 4.31 us.
TEST(JointFit, StepsThatAreNotFittedFollowTheSlowness) {
  const JointFit fit = fit_jointly(problem(20e-6, batch));
  EXPECT_NEAR(fit.times[0][1], 4.31e-6, 1e-8);
  EXPECT_NEAR(fit.times[1][1], 2e-6, 1e-12);
}

// The stranger's variance: of common what the measurement leaves, 0.49 - 0.49^2 / 0.67 = 0.132, and its slowness and
// own: 0.132 + 0.09 + 0.09 = 0.312.
TEST(JointFit, SaysHowFarATimeIsKnown) {
  const JointFit fit = fit_jointly(problem(20e-6, batch));
  EXPECT_NEAR(fit.uncertainty[0][0], 1e-3, 1e-4);
  EXPECT_NEAR(fit.uncertainty[1][0], std::sqrt(0.5407), 1e-3);
}

// Without its measurement the host is at its prior.
TEST(JointFit, LeavesAHostsOwnMeasurementsOut) {
  const JointFit fit = fit_jointly(problem(20e-6, batch));
  EXPECT_NEAR(fit.left_out[0][0], 10e-6, 1e-9);
  EXPECT_NEAR(fit.left_out[1][0], fit.times[1][0], 1e-9);  // it has none
}

// A sum is not linear in logarithms: 10 + 4 us measured as 42 us takes several steps.
TEST(JointFit, FollowsAModelThatIsNotLinear) {
  const JointFit fit = fit_jointly(problem(42e-6, [](const StepTimes& times) { return times[0] + times[1]; }));
  EXPECT_GT(fit.iterations, 1);
  EXPECT_NEAR(fit.after[0][0], 42e-6, 0.2e-6);
  EXPECT_NEAR(fit.before[0][0], 14e-6, 1e-9);
}

// Two values say 20 us, one 200 us. Normal errors would take their mean, 20 us x 10^(1/3) = 43 us. With four degrees of
// freedom and a scale of 0.15 one that is ln 10 off counts 1.25 / (1 + (ln 10 / 0.15)^2 / 4) = 0.021 of 1.25 for each
// of the others: 20 us x 10^(0.021 / 2.52) = 20.4 us.
TEST(JointFit, AValueThatIsFarOffSaysLittle) {
  JointProblem three = problem(20e-6, batch);
  three.hosts[0].targets = {{"one", 20e-6, 0.0225}, {"another", 20e-6, 0.0225}, {"far off", 200e-6, 0.0225}};
  three.predict = three.slope = [](const std::vector<JointQuery>& queries) {
    std::vector<std::vector<double>> all;
    for (const JointQuery& query : queries) all.emplace_back(3, batch(query.times));
    return all;
  };
  EXPECT_GT(fit_jointly(three).times[0][0], 40e-6);
  three.degrees_of_freedom = 4;
  EXPECT_NEAR(fit_jointly(three).times[0][0], 20.4e-6, 0.3e-6);
}

// The same value twice, of one experiment: each counts half, and nothing else changes.
TEST(JointFit, ValuesOfOneExperimentShareTheirWeight) {
  JointProblem one = problem(20e-6, batch);
  one.hosts[0].targets[0].variance = 0.1;
  JointProblem two = one;
  two.hosts[0].targets = {{"a batch", 20e-6, 0.1, 0.5}, {"again", 20e-6, 0.1, 0.5}};
  two.predict = two.slope = [](const std::vector<JointQuery>& queries) {
    std::vector<std::vector<double>> all;
    for (const JointQuery& query : queries) all.emplace_back(2, batch(query.times));
    return all;
  };
  EXPECT_NEAR(fit_jointly(one).times[0][0], fit_jointly(two).times[0][0], 1e-12);
}

// How many predictions each measurement of slopes asks for.
std::vector<std::size_t> asked_for_slopes(JointProblem of) {
  std::vector<std::size_t> asked;
  const JointPredict slope = of.slope;
  of.slope = [&](const std::vector<JointQuery>& queries) {
    asked.push_back(queries.size());
    return slope(queries);
  };
  EXPECT_NEAR(fit_jointly(of).after[0][0], 42e-6, 0.2e-6);
  return asked;
}

// A second fitted step that moves nothing is tried once: the first slopes ask for 4 predictions (as it is, each step
// longer, all steps), the others for 3.
TEST(JointFit, DoesNotTryAgainWhatMovesNothing) {
  JointProblem two = problem(42e-6, [](const StepTimes& times) { return times[0] + 4e-6; });
  two.steps[1].fitted = true;
  EXPECT_EQ(asked_for_slopes(two), (std::vector<std::size_t>{4, 3}));
}

// From 14 to 42 us takes several steps, and of a sum each step's part is known wherever its time is: slopes are
// measured at the start and where the search ends.
TEST(JointFit, MeasuresSlopesAgainWhereStepsByThemGainNoMore) {
  EXPECT_EQ(asked_for_slopes(problem(42e-6, [](const StepTimes& times) { return times[0] + times[1]; })),
            (std::vector<std::size_t>{3, 3}));
}

// Ten batches while one takes less than 15 us, six then: slopes of the start are not those of the end.
TEST(JointFit, FollowsCountsThatMove) {
  const JointFit fit = fit_jointly(
      problem(120e-6, [](const StepTimes& times) { return times[0] * (times[0] < 15e-6 ? 10 : 6) + times[1]; }));
  EXPECT_NEAR(fit.after[0][0], 120e-6, 1e-6);
}

TEST(JointFit, RefusesWhatIsNotPositive) {
  EXPECT_THROW(fit_jointly(problem(0, batch)), std::invalid_argument);
  JointProblem no_freedom = problem(20e-6, batch);
  no_freedom.degrees_of_freedom = 0;
  EXPECT_THROW(fit_jointly(no_freedom), std::invalid_argument);
  JointProblem no_time = problem(20e-6, batch);
  no_time.steps[1].common_s = 0;
  EXPECT_THROW(fit_jointly(no_time), std::invalid_argument);
}

}  // namespace
}  // namespace uvmsim
