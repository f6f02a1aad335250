#include "report/diff.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/user_error.h"
#include "report/json.h"
#include "support/sample_result.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const kBefore =
    R"({"outcome":"completed","detail":"","summary":{"duration_s":2.0,"slowdown":null,"totals":{"h2d_bytes":1000,
       "kernels":5},"gpus":[{"duration_s":2.0}]},"links":[],"run":{"host":{"wall_s":1}}})";
const char* const kAfter =
    R"({"outcome":"completed","detail":"","summary":{"duration_s":2.5,"slowdown":1.25,"totals":{"h2d_bytes":500,
       "kernels":5},"gpus":[{"duration_s":2.5}]},"links":[],"run":{"host":{"wall_s":9}}})";

ResultDiff diff(const std::string& before, const std::string& after, const std::string& before_config = "",
                const std::string& after_config = "") {
  return diff_results({before, before_config}, "a", {after, after_config}, "b");
}

// 2.5 / 2 - 1 = 25 %, 500 / 1000 - 1 = -50 %; nothing of `run` counts, nor what is equal.
TEST(Diff, ListsWhatChangedAndByHowMuch) {
  const ResultDiff found = diff(kBefore, kAfter);
  ASSERT_EQ(found.result.size(), 4u);
  EXPECT_EQ(found.result[0].name, "summary.duration_s");
  EXPECT_DOUBLE_EQ(found.result[0].relative().value(), 0.25);
  EXPECT_EQ(found.result[1].name, "summary.slowdown");
  EXPECT_FALSE(found.result[1].relative());
  EXPECT_EQ(found.result[2].name, "summary.totals.h2d_bytes");
  EXPECT_DOUBLE_EQ(found.result[2].relative().value(), -0.5);
  EXPECT_EQ(found.result[3].name, "summary.gpus[0].duration_s");
}

TEST(Diff, TextHasUnitsAndLeavesOutSingleGpus) {
  const std::string text = diff_text(diff(kBefore, kAfter), false);
  EXPECT_EQ(text,
            "What that changed\n"
            "              before  after   change\n"
            "  duration_s     2 s  2.5 s  +25.0 %\n"
            "  slowdown      null   1.25\n"
            "  h2d_bytes     1 KB  500 B  -50.0 %\n"
            "\n"
            "1 values of single GPUs, allocators and links differ as well (--all)\n");
  EXPECT_THAT(diff_text(diff(kBefore, kAfter), true), HasSubstr("summary.gpus[0].duration_s"));
}

TEST(Diff, OfConfigsIgnoresWhereValuesComeFrom) {
  const ResultDiff found =
      diff(kBefore, kBefore, R"({"run":{"warmup":{"value":1,"origin":"a.json:3"},"iterations":2}})",
           R"({"run":{"warmup":{"value":1,"origin":"--set"},"iterations":4,"audit":true}})");
  ASSERT_EQ(found.config.size(), 2u);
  EXPECT_EQ(found.config[0].name, "run.iterations");
  EXPECT_EQ(found.config[0].after, "4");
  EXPECT_EQ(found.config[1].name, "run.audit");
  EXPECT_EQ(found.config[1].before, "");
  EXPECT_THAT(diff_text(found, false), HasSubstr("The results are the same."));
}

TEST(Diff, JsonHasValuesAsTheyAre) {
  const auto json = nlohmann::json::parse(diff_json(diff(kBefore, kAfter)));
  EXPECT_EQ(json["result"][0]["before"], 2.0);
  EXPECT_EQ(json["result"][0]["relative"], 0.25);
  EXPECT_TRUE(json["result"][1]["before"].is_null());
  EXPECT_TRUE(json["config"].empty());
}

TEST(Diff, OfARealResultWithItselfIsEmpty) {
  const std::string text = to_json(make_report(test::sample_result(), {}, {}));
  EXPECT_TRUE(diff(text, text).result.empty());
}

TEST(Diff, RefusesWhatIsNoResult) {
  EXPECT_THROW(diff("{}", kAfter), UserError);
  EXPECT_THROW(diff(kBefore, "no JSON"), UserError);
}

}  // namespace
}  // namespace uvmsim
