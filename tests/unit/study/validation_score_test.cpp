// Errors, verdicts and gaps of predictions.
#include <gmock/gmock.h>

#include "study/validation/claims_page.h"
#include "study/validation/coverage.h"
#include "study/validation/results_page.h"
#include "study/validation/score.h"
#include "study/validation/uses.h"

namespace uvmsim {
namespace {

// One family of one case, measured in seconds: each value is the duration, with a tolerance of 10 %.
struct OneCase {
  std::vector<CaseFamily> families;
  RunResults results;

  explicit OneCase(const std::vector<double>& measured_s, int deviation = 0) {
    families.resize(1);
    CaseFamily& family = families.front();
    family.name = "family";
    family.cases.resize(1);
    family.cases[0].name = "case";
    family.cases[0].runs.push_back({"", {}, "run"});
    for (const double value : measured_s) {
      MeasuredValue m;
      m.name = "value" + std::to_string(family.cases[0].measured.size());
      m.metric = "duration_s";
      Expression::Error error;
      m.expression = *Expression::parse(m.metric, error);
      m.value = value;
      m.unit = "s";
      m.tolerance = {0.1, "test"};
      m.deviation = deviation;
      family.cases[0].measured.push_back(std::move(m));
    }
    Result result;
    result.duration_s = 1.0;
    results["run"] = result;
  }
  std::vector<Score> scores() const { return score_values(families, results); }
};

TEST(Score, IsPredictedOverMeasuredLessOne) {
  // 1 / 0.8 = 1.25; 1 / 1.25 = 0.8; 1 / 1.05 is 4.8 % short.
  const OneCase one({0.8, 1.25, 1.05});
  const std::vector<Score> scores = one.scores();
  EXPECT_DOUBLE_EQ(*scores[0].error, 0.25);
  EXPECT_DOUBLE_EQ(*scores[1].error, -0.2);
  EXPECT_FALSE(scores[0].inside);
  EXPECT_FALSE(scores[1].inside);
  EXPECT_TRUE(scores[2].inside);
}

// 1 s is in [0.9, 1] with its ends, and not in [1.1, 2]. An input counts for nothing.
TEST(Claims, AreTheSameInTheirRange) {
  OneCase one({1.0, 1.0, 1.0});
  one.families[0].role = Role::Claim;
  std::vector<MeasuredValue>& claims = one.families[0].cases[0].measured;
  for (MeasuredValue& claim : claims) claim.criterion = Criterion::Range;
  claims[0].least = 0.9, claims[0].most = 1;
  claims[1].least = 1.1, claims[1].most = 2;
  claims[2].input = true;
  const std::vector<Score> scores = one.scores();
  EXPECT_TRUE(scores[0].inside);
  EXPECT_FALSE(scores[1].inside);
  const std::string page = claims_page(scores);
  EXPECT_THAT(page, testing::HasSubstr("1 of 2 claims of 1 systems come out as published."));
  EXPECT_THAT(page, testing::HasSubstr("| case | 1 s | 1 s | 0.9 to 1 s | same |"));
}

TEST(Score, OfAFamilyHasMedianWorstAndBias) {
  const OneCase one({0.8, 1.25, 1.0});  // errors +25 %, -20 %, 0
  const FamilyScore family = score_families(one.scores()).at(0);
  EXPECT_DOUBLE_EQ(*family.median_error, 0.2);
  EXPECT_DOUBLE_EQ(*family.worst_error, 0.25);
  EXPECT_DOUBLE_EQ(*family.bias, 0.0);
  EXPECT_EQ(family.inside, 1);
}

TEST(Score, ARunWithoutResultFails) {
  OneCase one({1.0});
  one.results["run"] = std::string("took more than 5 s");
  const Score score = one.scores().at(0);
  EXPECT_EQ(score.failure, "took more than 5 s");
  EXPECT_DOUBLE_EQ(*score.error, 1);
  EXPECT_FALSE(score.inside);
}

TEST(KnownGaps, AValueOutsideThatNamesNoneIsAFault) {
  const OneCase one({0.5, 1.0});
  const std::vector<std::string> gaps = unknown_gaps(one.scores(), {});
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0], "family/case/value0 is outside its tolerance: no deviation says why");
}

TEST(KnownGaps, AnOpenOneIsNot) { EXPECT_TRUE(unknown_gaps(OneCase({0.5, 1.0}, 7).scores(), {}).empty()); }

TEST(KnownGaps, AClosedOneIsUnlessValuesAreMissing) {
  const OneCase one({1.0, 1.05}, 7);
  EXPECT_EQ(unknown_gaps(one.scores(), {}),
            (std::vector<std::string>{"deviation 7 is closed: all values that name it are inside"}));
  EXPECT_TRUE(unknown_gaps(one.scores(), {7}).empty());
}

TEST(Uses, StarsStandForAnything) {
  EXPECT_TRUE(matches_id("a.*.c", "a.b.c"));
  EXPECT_TRUE(matches_id("a.*", "a.b.c"));
  EXPECT_TRUE(matches_id("*.c", "a.c.c"));
  EXPECT_FALSE(matches_id("a.*.c", "a.b.d"));
  EXPECT_FALSE(matches_id("a", "a.b"));
}

TEST(Uses, OneRoleOrOneEntry) {
  CaseFamily judges, fitted;
  judges.role = Role::Validation;
  fitted.role = Role::Calibration;
  const DeclaredUse input;
  EXPECT_FALSE((MeasurementUse{nullptr, {}, {}}).once());
  EXPECT_TRUE((MeasurementUse{nullptr, {&judges}, {}}).once());
  EXPECT_TRUE((MeasurementUse{nullptr, {&judges, &judges}, {}}).once());
  EXPECT_FALSE((MeasurementUse{nullptr, {&judges, &fitted}, {}}).once());
  EXPECT_TRUE((MeasurementUse{nullptr, {}, {&input}}).once());
  EXPECT_FALSE((MeasurementUse{nullptr, {&judges}, {&input}}).once());
}

RunTraits training_on(const std::string& gpu, double memory) {
  return {.gpu = gpu,
          .architecture = "volta",
          .driver = "418.40",
          .workload = "resnet1001",
          .sort = "training",
          .managed = true,
          .gpus = 1,
          .least_memory = memory,
          .most_memory = memory};
}

std::vector<FamilyErrors> two_families() {
  RunTraits kernels = training_on("V100", 1.2);
  kernels.workload = "vector_add";
  kernels.sort = "kernels";
  return {{"adds", "additions", 10, 0.01, 0.05, 0.0, {kernels}},
          {"talk", "trainings", 3, 0.2, 0.3, -0.2, {training_on("V100", 2.0)}}};
}

TEST(Trust, TakesTheFamilyThatIsMostAlike) {
  const Trust trust = trust_in(training_on("V100", 1.9), two_families());
  EXPECT_EQ(trust.family, "talk");
  EXPECT_DOUBLE_EQ(trust.median_error, 0.2);
  EXPECT_TRUE(trust.differences.empty());
  EXPECT_TRUE(trust.warnings.empty());
}

TEST(Trust, SaysWhatDiffers) {
  const Trust trust = trust_in(training_on("TITAN V", 2.0), two_families());
  EXPECT_EQ(trust.differences, std::vector<std::string>{"V100"});
  EXPECT_EQ(trust.warnings, std::vector<std::string>{"this GPU, TITAN V"});
}

TEST(Trust, WarnsOfMoreMemoryThanWasEverMeasured) {
  const Trust trust = trust_in(training_on("V100", 3.0), two_families());
  EXPECT_EQ(trust.warnings,
            std::vector<std::string>{"3 times the GPU's memory; for this shape of workload at most 2 times"});
}

// Kernels at 5 % and nothing else: 10 s may be 10 x/ exp(1.2 x root of (0.05^2 + 0.02^2)) = 9.37 to 10.67 s.
TEST(Trust, BandsComeFromTheKindsOfWork) {
  PublishedErrors errors{two_families(), {}, {}};
  errors.model.own_costs.kernels = errors.model.other_costs.kernels = 0.05;
  errors.model.quantile = 1.2;
  Machine machine;
  machine.gpus.push_back({});
  GpuResult gpu;
  gpu.duration_s = gpu.time_split_s.compute_s = 10;
  const Band band = band_of(errors, machine, {gpu}, 10);
  EXPECT_NEAR(band.low_s, 9.374, 0.001);
  EXPECT_NEAR(band.high_s, 10.668, 0.001);
  EXPECT_FALSE(band.own_costs);
  ASSERT_EQ(band.parts.size(), 1u);
  EXPECT_DOUBLE_EQ(band.parts[0].share, 1);
}

// Its own are the costs that were fitted: not those of a machine that is only called alike.
TEST(Trust, AnotherGpuOrCostHasNoCostsOfItsOwn) {
  Machine machine;
  machine.name = "DGX-1";
  machine.gpus.push_back({});
  machine.gpus[GpuIndex{0}].name = "V100";
  machine.gpus[GpuIndex{0}].driver_costs.batch = nanoseconds(5000);
  GpuResult gpu;
  gpu.duration_s = gpu.time_split_s.compute_s = 10;
  const PublishedErrors errors{two_families(), {}, {own_costs_of(machine)}};
  EXPECT_TRUE(band_of(errors, machine, {gpu}, 10).own_costs);
  Machine other = machine;
  other.gpus[GpuIndex{0}].name = "L40S";
  EXPECT_FALSE(band_of(errors, other, {gpu}, 10).own_costs);
  other = machine;
  other.gpus[GpuIndex{0}].driver_costs.advise_block = nanoseconds(1);
  EXPECT_FALSE(band_of(errors, other, {gpu}, 10).own_costs);
}

TEST(Trust, PublishedErrorsAreReadAsWritten) {
  PublishedErrors errors{two_families(), {}, {{"V100-SXM2-16GB", "Tesla V100", "0123456789abcdef"}}};
  errors.model.own_costs.kernels = 0.05;
  errors.model.quantile = 1.2;
  const PublishedErrors read = read_errors(errors_json(errors), "results.json");
  EXPECT_EQ(read.families.size(), 2u);
  EXPECT_EQ(read.own_costs, errors.own_costs);
  EXPECT_DOUBLE_EQ(read.model.own_costs.kernels, 0.05);
  EXPECT_DOUBLE_EQ(read.model.quantile, 1.2);
  EXPECT_THROW(read_errors("[]", "results.json"), UserError);
}

}  // namespace
}  // namespace uvmsim
