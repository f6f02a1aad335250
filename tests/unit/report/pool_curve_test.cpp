#include "report/pool_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::Not;

// Event 3 is another device's.
const std::vector<PoolSample> kHistory = {{.live_bytes = 10, .reserved_bytes = 40},
                                          {.live_bytes = 30, .reserved_bytes = 40},
                                          {.device = 1, .live_bytes = 99, .reserved_bytes = 99},
                                          {.live_bytes = 20, .reserved_bytes = 50},
                                          {.live_bytes = 50, .reserved_bytes = 100}};

TEST(PoolCurve, HasOfEachPartTheEventWithTheMostInUse) {
  const std::vector<PoolPoint> two = pool_points(kHistory, 0, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].event, 2);
  EXPECT_EQ(two[0].used_bytes, 30);
  EXPECT_EQ(two[0].pool_bytes, 40);
  EXPECT_EQ(two[1].event, 5);
  EXPECT_EQ(pool_points(kHistory, 0, 24).size(), 4u) << "no more points than events";
  EXPECT_TRUE(pool_points(kHistory, 2, 24).empty());
}

// The most held, 100 bytes, is 50 characters wide.
TEST(PoolCurve, ShowsWhatIsUsedOfWhatIsHeld) {
  const std::string text = pool_curve(pool_points(kHistory, 0, 2), 0);
  EXPECT_THAT(text, HasSubstr("  " + std::string(15, '#') + std::string(5, '.') + "\n"));
  EXPECT_THAT(text, HasSubstr("  " + std::string(25, '#') + std::string(25, '.') + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("X")));
}

TEST(PoolCurve, MarksTheEventThatFoundNoMemory) {
  EXPECT_THAT(pool_curve(pool_points(kHistory, 0, 2), 6), HasSubstr(std::string(50, ' ') + "X out of memory\n"));
}

}  // namespace
}  // namespace uvmsim
