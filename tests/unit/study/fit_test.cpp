// Fits of models whose answer is known.
#include "study/calibration/fit.h"

#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

namespace uvmsim {
namespace {

// A fault of s KiB takes a + b s. Measured with a = 16.4 us and b = 0.137 us/KiB: 25.168 at 64 KiB, 51.472 at 256,
// 156.688 at 1024.
std::vector<double> line(const std::vector<double>& v) {
  return {v[0] + v[1] * 64, v[0] + v[1] * 256, v[0] + v[1] * 1024};
}
const std::vector<FitTarget> kLine = {{"64 KiB", 25.168}, {"256 KiB", 51.472}, {"1024 KiB", 156.688}};

TEST(Fit, FindsTheLineThatMadeTheValues) {
  const Fit f = fit({{"fixed", 5, 0.5, 500}, {"per_kib", 0.5, 0.001, 10}}, kLine, line, {.prior = 0});
  EXPECT_NEAR(f.values[0], 16.4, 0.1);
  EXPECT_NEAR(f.values[1], 0.137, 0.001);
  EXPECT_GT(f.error_before, 0.3);
  EXPECT_LT(f.error_after, 0.002);
  EXPECT_TRUE(f.trust[0].identifiable);
  EXPECT_TRUE(f.trust[1].identifiable);
  EXPECT_EQ(f.trust[0].most_sensitive, "64 KiB");    // 16.4 of 25.2: the largest share
  EXPECT_EQ(f.trust[1].most_sensitive, "1024 KiB");  // 140 of 157
}

// Only the sum of two fixed parts is seen: neither is determined, they trade against each other, and the prior keeps
// both in proportion to their start.
TEST(Fit, SaysThatTwoPartsOfASumAreNotIdentifiable) {
  const auto sum = [](const std::vector<double>& v) { return line({v[0] + v[1], v[2]}); };
  const Fit f = fit({{"interrupt", 4, 0.4, 40}, {"batch", 4, 0.4, 40}, {"per_kib", 0.1, 0.01, 1}}, kLine, sum);
  EXPECT_NEAR(f.values[0] + f.values[1], 16.4, 0.3);
  EXPECT_NEAR(f.values[0], f.values[1], 0.1);
  EXPECT_FALSE(f.trust[0].identifiable);
  EXPECT_FALSE(f.trust[1].identifiable);
  EXPECT_TRUE(f.trust[2].identifiable);
  EXPECT_EQ(f.trust[0].partners, std::vector<std::string>{"batch"});
  EXPECT_EQ(f.trust[1].partners, std::vector<std::string>{"interrupt"});
}

TEST(Fit, LeavesAParameterWithoutEffectWhereItWas) {
  const auto ignores = [](const std::vector<double>& v) { return line({v[0], 0.137}); };
  const Fit f = fit({{"fixed", 10, 1, 100}, {"evict_chunk", 7, 1, 100}}, kLine, ignores);
  EXPECT_NEAR(f.values[0], 16.4, 0.1);
  EXPECT_NEAR(f.values[1], 7, 0.01);
  EXPECT_EQ(f.trust[1].sensitivity, 0);
  EXPECT_EQ(f.trust[1].uncertainty, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(f.trust[1].identifiable);
}

TEST(Fit, StaysInsideTheBounds) {
  const Fit f = fit({{"fixed", 5, 2, 10}, {"per_kib", 0.137, 0.137, 0.137}}, kLine, line);
  EXPECT_LE(f.values[0], 10.0000001);
  EXPECT_NEAR(f.values[1], 0.137, 1e-9);
}

TEST(Fit, OneParameterIsEnough) {
  const Fit f = fit({{"scale", 1, 0.1, 10}}, {{"a", 6}, {"b", 12}}, [](const std::vector<double>& v) {
    return std::vector<double>{2 * v[0], 4 * v[0]};
  });
  EXPECT_NEAR(f.values[0], 3, 0.01);
}

// Weights 3 : 1 between two values that contradict each other: ln v = (3 ln 2 + 1 ln 32) / 4 = ln 4.
TEST(Fit, WeighsTheTargets) {
  const Fit f = fit({{"v", 3, 0.1, 100}}, {{"often", 2, 3}, {"once", 32, 1}},
                    [](const std::vector<double>& v) {
                      return std::vector<double>{v[0], v[0]};
                    },
                    {.prior = 0});
  EXPECT_NEAR(f.values[0], 4, 0.01);
}

TEST(Fit, RefusesWhatHasNoLogarithm) {
  EXPECT_THROW(fit({{"p", 0, 0, 1}}, {{"a", 1}}, line), std::invalid_argument);
  EXPECT_THROW(fit({{"p", 1, 0.1, 10}}, {{"a", 0}}, line), std::invalid_argument);
  EXPECT_THROW(fit({}, {{"a", 1}}, line), std::invalid_argument);
  EXPECT_THROW(fit({{"p", 1, 0.1, 10}}, {}, line), std::invalid_argument);
}

}  // namespace
}  // namespace uvmsim
