#include "report/table.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

const std::vector<std::vector<std::string>> kRows = {{"", "batches", "groups", "evicted"}, {"gpu0", "12", "3", "4 MB"}};

// 2 + 4 columns of labels, then 2 + 7, 2 + 6 and 2 + 7.
TEST(Table, StandsOnAPageThatIsWideEnough) {
  const PageWidth page(32);
  EXPECT_EQ(aligned(kRows),
            "        batches  groups  evicted\n"
            "  gpu0       12       3     4 MB\n");
}

TEST(Table, ComesInPartsOnANarrowerOne) {
  const PageWidth page(31);
  EXPECT_EQ(aligned(kRows),
            "        batches  groups\n"
            "  gpu0       12       3\n"
            "        evicted\n"
            "  gpu0     4 MB\n");
}

TEST(Table, HasAColumnAtATimeOnTheNarrowest) {
  const PageWidth page(1);
  EXPECT_EQ(aligned({{"a", "b", "c"}}), "  a  b\n  a  c\n");
}

TEST(Wrapped, KeepsToThePage) {
  const PageWidth page(9);
  EXPECT_EQ(wrapped("one two three", "  ", 98), "  one two\n  three\n");
}

TEST(Folded, ContinuesBelowTheTextBehindTheLabel) {
  const PageWidth page(22);
  EXPECT_EQ(folded("  --json  print one object\nshort\n"),
            "  --json  print one\n"
            "          object\n"
            "short\n");
}

// Where more than half of the page would be left blank.
TEST(Folded, ContinuesBelowALabelThatIsLong) {
  const PageWidth page(18);
  EXPECT_EQ(folded("  --timeline-level  what\n"), "  --timeline-level\n  what\n");
}

TEST(Folded, LeavesTextAloneWithoutAPage) { EXPECT_EQ(folded("a b  c d\n\n"), "a b  c d\n\n"); }

}  // namespace
}  // namespace uvmsim
