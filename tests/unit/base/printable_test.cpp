#include "base/printable.h"

#include <gtest/gtest.h>

#include "base/user_error.h"

namespace uvmsim {
namespace {

TEST(Printable, NothingThatATerminalObeysIsLeft) {
  EXPECT_EQ(printable("a\x1b[31mred\x07"), R"(a\x1b[31mred\x07)");
  EXPECT_EQ(printable("two\nlines\tand\r\x7f"), R"(two\nlines\tand\x0d\x7f)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            R"(\x9b31m)");  // CSI as one character
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "gnp.exe"),
            R"(a\u202egnp.exe)");  // what follows would be shown backwards
  EXPECT_EQ(printable_lines("a\nb\x1b"), "a\nb\\x1b");
}

TEST(Printable, LettersOfAllLanguagesStay) {
  for (const char* text : {"", "C:\\temp",
                           "Gr\xc3\xb6\xc3\x9f"
                           "e",
                           "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x99\x82"})
    EXPECT_EQ(printable(text), text);
}

// Cut short, too long for its character, half of a surrogate pair, beyond the last character.
TEST(Printable, BytesThatAreNoUtf8AreShownOneByOne) {
  EXPECT_EQ(printable("\xe6\x97"), R"(\xe6\x97)");
  EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)");
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), R"(\xf5\x80\x80\x80)");
}

TEST(Printable, ColumnsAreThoseOfATerminal) {
  EXPECT_EQ(columns_of("batch"), 5u);
  EXPECT_EQ(columns_of("Gr\xc3\xb6\xc3\x9f"
                       "e"),
            5u);
  EXPECT_EQ(columns_of("\xe6\x97\xa5\xe6\x9c\xac"), 4u);  // two wide characters
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u);                 // e, and an accent that combines with it
}

TEST(Printable, ErrorsShowWhatWasFoundAndDoNotObeyIt) {
  const UserError error("a\x1b[2J.json", {{"/ke\ny", "unknown key \x1b]0;title\x07"}});
  EXPECT_STREQ(error.what(), "a\\x1b[2J.json: 1 error\n  /ke\\ny: unknown key \\x1b]0;title\\x07");
}

}  // namespace
}  // namespace uvmsim
