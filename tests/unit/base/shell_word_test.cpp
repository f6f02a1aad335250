#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

TEST(ShellWord, StandsAsItIsWhereAShellReadsOneWord) {
  EXPECT_EQ(shell_word("workload.batch=64"), "workload.batch=64");
  EXPECT_EQ(shell_word("machine.use=0+4"), "machine.use=0+4");
}

TEST(ShellWord, IsQuotedWhereItWouldNot) {
  EXPECT_EQ(shell_word("workload.part_bytes=2.1 GB"), "'workload.part_bytes=2.1 GB'");
  EXPECT_EQ(shell_word("a'b"), R"('a'\''b')");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace uvmsim
