#include "study/prefetch_vectors.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "base/user_error.h"

namespace uvmsim {
namespace {

VectorReport evaluate(const std::string& text) {
  std::istringstream in(text);
  return evaluate_prefetch_vectors(in);
}

TEST(PrefetchVectors, TheDensityPrefetcherReproducesEveryVector) {
  std::ifstream in(UVMSIM_SOURCE_DIR "/tests/golden/uvm/prefetch_golden.json");
  ASSERT_TRUE(in);
  const VectorReport report = evaluate_prefetch_vectors(in);
  EXPECT_THAT(report.mismatches, testing::IsEmpty());
  EXPECT_EQ(report.passed, 563 + 31);
  EXPECT_EQ(report.failed, 0);
}

// The first fault of an empty block at threshold 51 fetches its 64 KiB page, [0, 16), not [0, 32).
TEST(PrefetchVectors, AWrongExpectationIsAMismatchThatNamesTheCase) {
  const VectorReport report = evaluate(R"({"cases": [{"name": "first", "num_pages": 512, "start_page": 0,
      "threshold": 51, "resident": [], "faulted": [[0, 1]], "expect": {"migrate": [[0, 32]]}}]})");
  EXPECT_EQ(report.passed, 0);
  EXPECT_EQ(report.failed, 1);
  EXPECT_THAT(report.mismatches, testing::ElementsAre("first: migrate: expected [[0,32]], computed [[0,16]]"));
}

TEST(PrefetchVectors, AnOptionThatIsNotUnderstoodFailsTheCase) {
  const VectorReport report = evaluate(R"({"cases": [{"name": "odd", "num_pages": 512, "start_page": 0,
      "threshold": 51, "resident": [], "faulted": [[0, 1]], "options": {"moon": "full"}, "expect": {}}]})");
  EXPECT_EQ(report.failed, 1);
  EXPECT_THAT(report.mismatches, testing::ElementsAre("odd: unknown option \"moon\""));
}

// A descending sweep at threshold 5 fetches the upper 1 MiB, then the lower one.
TEST(PrefetchVectors, SweepsRunInBothDirections) {
  const VectorReport report = evaluate(R"({"sweeps": [{"name": "down", "num_pages": 512, "start_page": 0,
      "threshold": 5, "batch": 1, "order": "desc", "faults": 2, "sizes_pages": [256, 256]}]})");
  EXPECT_THAT(report.mismatches, testing::IsEmpty());
  EXPECT_EQ(report.passed, 1);
}

TEST(PrefetchVectors, TextThatIsNotOfTheFormIsTheUsersFault) {
  EXPECT_THROW(evaluate("{"), UserError);
  EXPECT_THROW(evaluate(R"({"cases": [{"name": "no block"}]})"), UserError);
}

}  // namespace
}  // namespace uvmsim
