#include "base/field_text.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

std::string range_of(double min, const std::string& unit) {
  FieldInfo field;
  field.kind = FieldInfo::Kind::Integer32;
  field.min = min;
  field.unit = unit;
  return range_text(field);
}

TEST(RangeText, HasTheUnitsOfItsNumber) {
  EXPECT_EQ(range_of(1, "samples"), "at least 1 sample");
  EXPECT_EQ(range_of(2, "samples"), "at least 2 samples");
  EXPECT_EQ(range_of(1, "1/s"), "at least 1 1/s");
  EXPECT_EQ(range_of(1, ""), "at least 1");
}

}  // namespace
}  // namespace uvmsim
