#include <gtest/gtest.h>

#include "machine/machine.h"

namespace uvmsim {
namespace {

TEST(DriverTraits, BeforeTheOldestSourceReadItIsAssumedToBeThatOne) {
  const DriverTraits t = driver_traits("418.40");
  EXPECT_TRUE(t.assumed);
  EXPECT_EQ(t.major, 515);
  EXPECT_FALSE(t.head_clamp_quirk);
  EXPECT_FALSE(t.large_cpu_chunks);
  EXPECT_TRUE(t.prefetch_away_from_preferred);
  EXPECT_FALSE(driver_traits("515.43.04").assumed);
}

// Each decision changes at one version: not the one before, and every one after.
TEST(DriverTraits, ChangeAtTheirVersions) {
  for (int major = 515; major < 610; ++major) {
    const DriverTraits t = driver_traits(std::to_string(major) + ".10");
    EXPECT_EQ(t.major, major);
    EXPECT_EQ(t.head_clamp_quirk, major >= 525) << major;
    EXPECT_EQ(t.large_cpu_chunks, major >= 530) << major;
    EXPECT_EQ(t.expands_notifications, major >= 550) << major;
    EXPECT_EQ(t.has_discard, major >= 580) << major;
    EXPECT_EQ(t.discarded_list, major >= 590) << major;
    EXPECT_EQ(t.adaptive_lapse, major >= 590) << major;
    EXPECT_EQ(t.prefetch_away_from_preferred, major < 590) << major;
  }
}

}  // namespace
}  // namespace uvmsim
