#include <gmock/gmock.h>

#include "study/sweep/axis.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The values of the first key, joined by "|"; what is wrong, when something is.
std::string values(const std::string& list) {
  std::vector<InputError> errors;
  const std::optional<SweepAxis> axis = parse_axis("k=" + list, "--sweep", errors);
  if (!axis) return "fault: " + (errors.empty() ? "none" : errors.front().message);
  std::string text;
  for (const std::vector<std::string>& step : axis->steps) text += (text.empty() ? "" : "|") + step.front();
  return text;
}

TEST(SweepAxis, ListsValuesAsTheyAreWritten) {
  EXPECT_EQ(values("48,98"), "48|98");
  EXPECT_EQ(values(" fp32 , 32 GiB,true"), "fp32|32 GiB|true");
  EXPECT_EQ(values(R"("a,b",[1,2],{"x":1,"y":[2,3]})"), R"("a,b"|[1,2]|{"x":1,"y":[2,3]})");
  EXPECT_EQ(values(R"("quote \" and , comma",2)"), R"("quote \" and , comma"|2)");
}

TEST(SweepAxis, RangeEndsAtItsLastValueOrBefore) {
  EXPECT_EQ(values("range(1,100,10)"), "1|11|21|31|41|51|61|71|81|91");
  EXPECT_EQ(values("range(1,3)"), "1|2|3");
  EXPECT_EQ(values("range(5,5,3)"), "5");
  EXPECT_EQ(values("range(3,-3,-3)"), "3|0|-3");
  EXPECT_EQ(values("range(10,0,-4)"), "10|6|2");
}

// In binary floating point 0.1 + 0.1 + 0.1 is not 0.3.
TEST(SweepAxis, DecimalStepsAreExact) {
  EXPECT_EQ(values("range(0.1,0.5,0.1)"), "0.1|0.2|0.3|0.4|0.5");
  EXPECT_EQ(values("range(-0.05,0.05,0.05)"), "-0.05|0|0.05");
  EXPECT_EQ(values("range(0.5,2.5)"), "0.5|1.5|2.5");
}

TEST(SweepAxis, RangesCarryOneUnit) {
  EXPECT_EQ(values("range(8 GiB,32 GiB,8 GiB)"), "8 GiB|16 GiB|24 GiB|32 GiB");
  EXPECT_EQ(values("log2(1.5us,6us)"), "1.5 us|3 us|6 us");
  EXPECT_THAT(values("range(8 GiB,32 GB,8 GiB)"), HasSubstr("same unit"));
}

TEST(SweepAxis, Log2Doubles) {
  EXPECT_EQ(values("log2(1,64)"), "1|2|4|8|16|32|64");
  EXPECT_EQ(values("log2(3,20)"), "3|6|12");
  EXPECT_EQ(values("log2(7,7)"), "7");
}

TEST(SweepAxis, FunctionsStandAmongValues) {
  EXPECT_EQ(values("0,range(10,12),log2(64,128),x"), "0|10|11|12|64|128|x");
}

TEST(SweepAxis, SaysWhatIsWrong) {
  EXPECT_THAT(values("1,,2"), HasSubstr("a value is missing"));
  EXPECT_THAT(values(""), HasSubstr("a value is missing"));
  EXPECT_THAT(values("range(1)"), HasSubstr("expected range(FIRST,LAST) or range(FIRST,LAST,STEP)"));
  EXPECT_THAT(values("range(1,2,3,4)"), HasSubstr("got range(1,2,3,4)"));
  EXPECT_THAT(values("range(1,x)"), HasSubstr("decimal numbers"));
  EXPECT_THAT(values("range(1,5,0)"), HasSubstr("has no values"));
  EXPECT_THAT(values("range(5,1)"), HasSubstr("has no values"));
  EXPECT_THAT(values("range(0,1000000)"), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(values("log2(0,8)"), HasSubstr("0 < FIRST <= LAST"));
  EXPECT_THAT(values("log2(8,4)"), HasSubstr("0 < FIRST <= LAST"));
}

TEST(SweepAxis, KeysJoinedGoTogether) {
  std::vector<InputError> errors;
  const auto axis = parse_axis("workload.batch=48,98 & workload.dtype=fp32,fp16", "--sweep", errors);
  ASSERT_TRUE(axis);
  EXPECT_THAT(axis->keys, ElementsAre("workload.batch", "workload.dtype"));
  EXPECT_THAT(axis->steps, ElementsAre(ElementsAre("48", "fp32"), ElementsAre("98", "fp16")));
}

TEST(SweepAxis, ReportsAllFaultsOfAnAxisWithItsPlace) {
  std::vector<InputError> errors;
  EXPECT_FALSE(parse_axis("a=1,2&b=1", "/sweep/0", errors));
  EXPECT_FALSE(parse_axis("a=1&a=2", "/sweep/1", errors));
  EXPECT_FALSE(parse_axis("a=range(2,1)&b", "/sweep/2", errors));
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors[0].place, "/sweep/0");
  EXPECT_EQ(errors[0].message, "keys joined by & need as many values each: a has 2, b has 1");
  EXPECT_EQ(errors[1].message, "has a twice");
  EXPECT_THAT(errors[3].message, HasSubstr("expected KEY=VALUE"));
}

}  // namespace
}  // namespace uvmsim
