#include "base/number_text.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

TEST(NumberText, HasFourSignificantDigits) {
  EXPECT_EQ(number_text(39.4321), "39.43");
  EXPECT_EQ(number_text(1234.4), "1234");
  EXPECT_EQ(number_text(9.99996), "10");
  EXPECT_EQ(number_text(0.5), "0.5");
  EXPECT_EQ(number_text(0.00123456), "0.001235");
  EXPECT_EQ(number_text(0), "0");
}

TEST(NumberText, TakesTheUnitThatFits) {
  EXPECT_EQ(seconds_text(19.8712), "19.87 s");
  EXPECT_EQ(seconds_text(45e-6), "45 us");
  EXPECT_EQ(seconds_text(0.99996), "1 s");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(bytes_text(120.4e9), "120.4 GB");
  EXPECT_EQ(bytes_text(384e3), "384 KB");
  EXPECT_EQ(bytes_text(0.0), "0 B");
}

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace uvmsim
