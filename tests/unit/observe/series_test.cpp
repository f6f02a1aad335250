#include "observe/series.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

constexpr Time s(double t) { return from_seconds(t); }

double highest(const SeriesPicture& picture) {
  double peak = 0;
  for (const SeriesPoint& point : picture.points) peak = std::max(peak, point.peak);
  return peak;
}

// 12 GB in [0, 1 s) and 6 GB in [1 s, 3 s): rates of 12 and 3 GB/s. Three points of whole windows are a second each to
// within a window, 3 s / 8192 x 2 at most.
TEST(FlowSeries, SpreadsAnAmountOverItsTime) {
  FlowSeries flow;
  flow.add(s(0), s(1), 12e9);
  flow.add(s(1), s(3), 6e9);
  EXPECT_NEAR(flow.total(), 18e9, 1);
  const SeriesPicture picture = flow.picture(s(3), 3);
  ASSERT_EQ(picture.points.size(), 3U);
  EXPECT_NEAR(picture.points.front().mean, 12e9, 12e9 * 1e-3);
  EXPECT_NEAR(picture.points.back().mean, 3e9, 3e9 * 1e-6);
}

// A run of 100 s is 10^7 windows of 10 us: they double until there are 8192 at most, of 100 s / 8192 < 20.5 ms. A burst
// of 1 GB in 41 ms covers at least one whole window, so its rate, 1 GB / 41 ms = 24.4 GB/s, shows as a peak of a
// picture of ten points, whose mean is 1 GB / 10 s at most.
TEST(FlowSeries, KeepsPeaksWhenItGetsCoarse) {
  FlowSeries flow;
  flow.add(s(50), s(50.041), 1e9);
  flow.add(s(99), s(100), 1e6);
  const SeriesPicture picture = flow.picture(s(100), 10);
  EXPECT_LE(picture.points.size(), 10U);
  EXPECT_NEAR(highest(picture), 1e9 / 0.041, 1e9 / 0.041 * 1e-3);
  for (const SeriesPoint& point : picture.points) EXPECT_LT(point.mean, 1.1e8);
}

// An amount at one instant counts in its window; what came before the origin does not.
TEST(FlowSeries, CountsInstantsAndNothingBeforeItsOrigin) {
  FlowSeries flow(s(1));
  flow.add(s(0.5), s(0.5), 7);
  flow.add(s(1.5), s(1.5), 5);
  flow.add(s(0), s(2), 10);  // half of it is in [1 s, 2 s)
  EXPECT_NEAR(flow.total(), 10, 1e-6);
}

// 10 for 1 s, then 30 for 3 s: a mean of (10 + 90) / 4 = 25 over 4 s, and 30 at most.
TEST(LevelSeries, HoldsAValueUntilTheNext) {
  LevelSeries level;
  level.set(s(0), 10);
  level.set(s(1), 30);
  const SeriesPicture picture = level.picture(s(4), 1);
  ASSERT_EQ(picture.points.size(), 1U);
  EXPECT_NEAR(picture.points.front().mean, 25, 1e-6);
  EXPECT_EQ(picture.points.front().peak, 30);
}

// 1 us at 99 GB in a run of 1000 s stays the peak of the point it is in.
TEST(LevelSeries, KeepsTheHighestValueHoweverShort) {
  LevelSeries level;
  level.set(s(0), 1e9);
  level.set(s(400), 99e9);
  level.set(s(400) + microseconds(1), 1e9);
  const SeriesPicture picture = level.picture(s(1000), 10);
  EXPECT_EQ(highest(picture), 99e9);
  EXPECT_NEAR(picture.points.front().mean, 1e9, 1e3);
}

// Series that end at different times have the same step in a picture of the same length.
TEST(Series, PicturesOfOneRunHaveOneStep) {
  FlowSeries early, late;
  early.add(s(0), s(0.001), 1);
  late.add(s(0), s(70), 1);
  LevelSeries level;
  level.set(s(0), 1);
  const SeriesPicture picture = late.picture(s(70), 400);
  EXPECT_EQ(early.picture(s(70), 400).step, picture.step);
  EXPECT_EQ(level.picture(s(70), 400).step, picture.step);
  EXPECT_EQ(early.picture(s(70), 400).points.size(), picture.points.size());
}

}  // namespace
}  // namespace uvmsim
