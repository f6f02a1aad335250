// Bands: shares of a time by kind of work, and how errors of kinds add up.
#include "study/validation/error_model.h"

#include <cmath>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

// Ten seconds: five of kernels, four of faults, of whose bytes three quarters were copied, one of copies.
const TimeSplit kSplit{.fault_cpu_s = 4, .copy_in_s = 1, .compute_s = 5};
const GpuCounts kCounts{.h2d_bytes = 3 << 20, .populated_bytes = 1 << 20};
constexpr BytesPerSecond kRemote{10'000'000'000};

TEST(ErrorModel, SharesAreOfTheWholeTime) {
  const ByKind shares = shares_of(kSplit, kCounts, kRemote);
  EXPECT_DOUBLE_EQ(shares.kernels, 0.5);
  EXPECT_DOUBLE_EQ(shares.demand_paging, 0.3);
  EXPECT_DOUBLE_EQ(shares.first_touch, 0.1);
  EXPECT_DOUBLE_EQ(shares.fault_copies, 0.1);
}

// 20 GB over the link at 10 GB/s are two of the five seconds.
TEST(ErrorModel, RemoteAccessIsPartOfTheKernels) {
  GpuCounts counts = kCounts;
  counts.remote_bytes = 20'000'000'000;
  const ByKind shares = shares_of(kSplit, counts, kRemote);
  EXPECT_DOUBLE_EQ(shares.remote_access, 0.2);
  EXPECT_DOUBLE_EQ(shares.kernels, 0.3);
}

// Three seconds of demand paging, twice as slow: 13 s instead of 10. A link that was busy for one second is still.
TEST(ErrorModel, StretchingAKindStretchesTheRun) {
  Result result;
  result.duration_s = 10;
  result.gpus.resize(1);
  result.gpus[0].duration_s = 10;
  result.gpus[0].counts = kCounts;
  result.gpus[0].time_split_s = kSplit;
  result.links.resize(1);
  result.links[0].busy_fraction = 0.1;
  const Result slower = stretched(result, &ByKind::demand_paging, 2, kRemote);
  EXPECT_DOUBLE_EQ(slower.duration_s, 13);
  EXPECT_DOUBLE_EQ(slower.gpus[0].time_split_s.fault_cpu_s, 7);
  EXPECT_DOUBLE_EQ(slower.links[0].busy_fraction, 1.0 / 13);
}

ErrorModel model_of(double kernels, double demand_paging, double correlation) {
  ErrorModel model;
  model.own_costs.kernels = model.other_costs.kernels = kernels;
  model.own_costs.demand_paging = demand_paging;
  model.other_costs.demand_paging = 2 * demand_paging;
  model.correlation = correlation;
  return model;
}

// Half kernels at 10 %, half faults at 30 %, and 2 % of everything: 0.05^2 + 0.15^2 + 0.02^2. Without own costs faults
// are twice as uncertain.
TEST(ErrorModel, ErrorsOfKindsAddAsSquares) {
  const ErrorModel model = model_of(0.1, 0.3, 0);
  const ByKind half{.kernels = 0.5, .demand_paging = 0.5};
  EXPECT_DOUBLE_EQ(spread_of(model, half, true), std::sqrt(0.0025 + 0.0225 + 0.0004));
  EXPECT_DOUBLE_EQ(spread_of(model, half, false), std::sqrt(0.0025 + 0.09 + 0.0004));
}

// What two runs have in common drops out of their ratio; what they do not, counts twice.
TEST(ErrorModel, ARatioHasOnlyWhatIsNotCommon) {
  const ByKind faults{.demand_paging = 1}, half{.kernels = 0.5, .demand_paging = 0.5};
  EXPECT_DOUBLE_EQ(spread_of_ratio(model_of(0.1, 0.3, 1), faults, faults, true), 0);
  EXPECT_DOUBLE_EQ(spread_of_ratio(model_of(0.1, 0.3, 1), faults, half, true), std::sqrt(0.15 * 0.15 + 0.05 * 0.05));
  EXPECT_DOUBLE_EQ(spread_of_ratio(model_of(0.1, 0.3, 0), faults, faults, true), std::sqrt(2 * 0.09 + 2 * 0.0004));
}

// Sixteen families of ten values, all of demand paging, whose errors are -39 % to +39 % in even steps, a family's all
// of one sign: four of five are inside, of families that the bands have not seen, too, and errors of a family go
// together.
std::vector<TimeError> even_errors() {
  std::vector<TimeError> errors;
  for (int family = 0; family < 16; ++family)
    for (int i = 0; i < 10; ++i)
      errors.push_back({.family = std::to_string(family),
                        .value = std::to_string(i),
                        .own_costs = true,
                        .log_error = (family % 2 == 0 ? 0.04 : -0.04) * i,
                        .moves = {.demand_paging = 1}});
  return errors;
}

TEST(ErrorModel, BandsHoldWhatTheySay) {
  const ErrorModel model = fit_error_model(even_errors());
  EXPECT_EQ(model.values, 160);
  EXPECT_NEAR(model.coverage, 0.8, 0.101);  // in steps of a tenth: ten sizes of errors
  EXPECT_GT(model.correlation, 0.5);
  const double band = model.quantile * spread_of(model, {.demand_paging = 1}, true);
  EXPECT_NEAR(band, 0.28, 0.041);  // the eighth of ten sizes
}

TEST(ErrorModel, FollowsTheKindThatIsOff) {
  std::vector<TimeError> errors = even_errors();
  for (TimeError& one : errors) one.log_error /= 10;
  for (TimeError one : even_errors()) {
    one.family += " evicts";
    one.moves = {.eviction = 1};
    errors.push_back(one);
  }
  const ErrorModel model = fit_error_model(errors);
  EXPECT_GT(model.own_costs.eviction, 4 * model.own_costs.demand_paging);
}

}  // namespace
}  // namespace uvmsim
