// Slow calibration cases have small stand-ins, from which `uvmsim calibrate --joint` takes how values move with costs.
#include <cmath>
#include <gtest/gtest.h>

#include "study/validation/score.h"

namespace uvmsim {
namespace {

// d ln(prediction) / d ln(cost) of the values of a family, from a quarter more and less.
std::vector<double> slopes(const std::string& family, const std::string& cost, const std::vector<std::string>& times,
                           bool surrogates) {
  const std::string validation = UVMSIM_SOURCE_DIR "/validation";
  const std::vector<Measurement> measurements = read_measurements(validation + "/measurements.json", read_text_file);
  std::vector<std::vector<double>> predictions;
  for (const std::string& time : times) {
    const std::vector<CaseFamily> families =
        read_families({.files = {validation + "/cases/" + family + ".json"},
                       .configs_folder = UVMSIM_SOURCE_DIR "/configs",
                       .settings = {"machine.gpu.driver_costs." + cost + "=" + time},
                       .surrogates = surrogates},
                      measurements);
    predictions.emplace_back();
    for (const Score& score : score_values(families, run_cases(families, {.processes = 2, .cache = ""})))
      if (score.of->unit == "us" || score.of->unit == "x") predictions.back().push_back(score.predicted.value());
  }
  std::vector<double> slopes;
  for (std::size_t i = 0; i < predictions[0].size(); ++i)
    slopes.push_back(std::log(predictions[1][i] / predictions[0][i]) / std::log(1.25 * 1.25));
  return slopes;
}

// `times`: about what the cost is, less and more a quarter.
void expect_alike(const std::string& family, std::size_t values, const std::string& cost,
                  const std::vector<std::string>& times) {
  const std::vector<double> whole = slopes(family, cost, times, false);
  const std::vector<double> surrogate = slopes(family, cost, times, true);
  ASSERT_EQ(whole.size(), values);
  for (std::size_t i = 0; i < values; ++i) {
    EXPECT_GT(whole[i], 0.05) << i;
    EXPECT_NEAR(surrogate[i], whole[i], 0.1) << i;
  }
}

TEST(Surrogates, StencilsBatchesMoveAsThoseOfTheWholeGrid) {
  expect_alike("specasync_batch", 2, "batch", {"16 us", "25 us"});
}
// A batch has ten blocks there: they are what it costs.
TEST(Surrogates, SmallArraysBatchesMoveAsThoseOfLargeOnes) {
  expect_alike("titanv_batch_time", 3, "block", {"12 us", "18.75 us"});
}

}  // namespace
}  // namespace uvmsim
