#include "cli/output_file.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/user_error.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { fs::create_directories(folder_); }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ / name; }
  void put(const std::string& name, const std::string& text) const { std::ofstream(at(name)) << text; }
  static void write(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.stream() << text;
    file.keep();
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_ = testing::TempDir() + "output_file_" + std::to_string(getpid());
};

TEST_F(OutputFileTest, AppearsWholeOrNotAtAll) {
  put("a", "old");
  {
    OutputFile file(at("a"));
    EXPECT_EQ(files(), 1);  // nothing is there before the first write
    file.stream() << "new";
    EXPECT_EQ(test::read_file(at("a")), "old");
  }
  EXPECT_EQ(test::read_file(at("a")), "old");
  EXPECT_EQ(files(), 1);
  write(at("a"), "new");
  EXPECT_EQ(test::read_file(at("a")), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, FailsBeforeTheWorkWhereNothingCanBeWritten) {
  EXPECT_THROW(OutputFile(at("nowhere/a")), std::system_error);
  EXPECT_THROW(OutputFile("/proc/uvmsim_test"), std::system_error);
  EXPECT_THROW(OutputFile{folder_.string()}, std::system_error);
}

TEST_F(OutputFileTest, KeepsTheModeAndFollowsLinks) {
  put("target", "old");
  fs::permissions(at("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", at("link"));
  fs::create_symlink("not_yet", at("dangling"));
  write(at("link"), "new");
  write(at("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(test::read_file(at("target")), "new");
  EXPECT_EQ(fs::status(at("target")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(test::read_file(at("not_yet")), "made");
}

TEST_F(OutputFileTest, WritesThroughWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  const int reader = open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write(at("pipe"), "through");
  std::string text(7, '\0');
  EXPECT_EQ(read(reader, text.data(), text.size()), 7);
  close(reader);
  EXPECT_EQ(text, "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_EQ(files(), 1);
}

// /dev/full is a device that has no room.
TEST_F(OutputFileTest, AWriteThatFailsIsAnError) {
  OutputFile file("/dev/full");
  file.stream() << "lost";
  EXPECT_THROW(file.keep(), std::system_error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, RefusesItsInputsByWhateverName) {
  put("a", "input");
  fs::create_hard_link(at("a"), at("same"));
  fs::create_symlink("a", at("link"));
  for (const char* name : {"a", "same", "link"})
    EXPECT_THROW(OutputFile(at(name), {"none", at("a")}), UserError) << name;
  EXPECT_NO_THROW(OutputFile(at("b"), {at("a")}));
  EXPECT_EQ(test::read_file(at("a")), "input");
}

// No process has the largest number; this one is alive. Files of other machines are none of ours.
TEST_F(OutputFileTest, RemovesWhatAKilledProgramLeft) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string mine = at("a.partial-") + host + "-";
  for (const std::string& left :
       {mine + "2147483647", mine + std::to_string(getppid()), at("a.partial-other-2147483647")})
    std::ofstream(left) << "x";
  write(at("a"), "new");
  EXPECT_FALSE(fs::exists(mine + "2147483647"));
  EXPECT_TRUE(fs::exists(mine + std::to_string(getppid())));
  EXPECT_TRUE(fs::exists(at("a.partial-other-2147483647")));
}

TEST_F(OutputFileTest, AnInterruptRemovesWhatIsBeingWritten) {
  OutputFile file(at("a"));
  file.stream() << "half" << std::flush;
  EXPECT_EQ(files(), 1);
  remove_temporary_files();
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace uvmsim
