#include <gmock/gmock.h>

#include "plan/reclaim.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Longest idle first: 4, 2, 8 and 6 bytes.
std::vector<std::size_t> chosen(const std::string& policy, std::int64_t bytes) {
  const std::vector<IdleTensor> idle = {{4, 0}, {2, 1}, {8, -1}, {6, 2}};
  return reclaim_policies().find(policy)->make()->choose(idle, bytes);
}

// For 5 B the first with 5 or more is the one of 8; for 8 the same; for 3 the longest idle does alone.
TEST(ReclaimPolicies, LmsTakesTheFirstThatIsLargeEnough) {
  EXPECT_THAT(chosen("lms", 5), ElementsAre(2));
  EXPECT_THAT(chosen("lms", 8), ElementsAre(2));
  EXPECT_THAT(chosen("lms", 3), ElementsAre(0));
}

// 9 B: none has as much; 4 + 2 are 6, with 8 it is 14.
TEST(ReclaimPolicies, LmsTakesSeveralWhereNoneIsLargeEnough) { EXPECT_THAT(chosen("lms", 9), ElementsAre(0, 1, 2)); }

// 5 B: 4 are too few, 4 + 2 are enough. 20 B are all there are; more than that is all there are, too.
TEST(ReclaimPolicies, EarliestGoesByIdleTimeAlone) {
  EXPECT_THAT(chosen("earliest", 5), ElementsAre(0, 1));
  EXPECT_THAT(chosen("earliest", 20), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(chosen("earliest", 21), ElementsAre(0, 1, 2, 3));
}

TEST(ReclaimPolicies, NoneLetsTheProcessRunOutOfMemory) { EXPECT_THAT(chosen("none", 1), IsEmpty()); }

}  // namespace
}  // namespace uvmsim
