#include "study/child_process.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace uvmsim {
namespace {

using testing::HasSubstr;

TEST(ChildProcess, HandsOverWhatItsWorkReturned) {
  ChildProcess child([] { return std::string("all of it"); });
  EXPECT_EQ(child.wait(), "all of it");
  EXPECT_GT(child.peak_rss_bytes(), 100'000);
}

// A pipe holds 64 KiB; the rest waits for the parent to read.
TEST(ChildProcess, HandsOverMoreThanAPipeHolds) {
  ChildProcess child([] { return std::string(10'000'000, 'x'); });
  EXPECT_EQ(child.wait().size(), 10'000'000u);
}

TEST(ChildProcess, RunsBesideItsParent) {
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  ChildProcess child([&] {
    char byte = 0;
    return std::to_string(read(ready[0], &byte, 1));  // returns once the parent wrote
  });
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  EXPECT_EQ(child.wait(), "1");
}

TEST(ChildProcess, TellsByWhichSignalItEnded) {
  ChildProcess child([]() -> std::string {
    raise(SIGKILL);
    return "never";
  });
  EXPECT_THAT([&] { child.wait(); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("signal 9")));
}

TEST(ChildProcess, FailsWhenItsWorkThrows) {
  ChildProcess child([]() -> std::string { throw std::logic_error("broken"); });
  EXPECT_THAT([&] { child.wait(); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("exit status 5")));
}

TEST(ChildProcess, IsKilledWhenNobodyWaits) {
  const auto started = std::chrono::steady_clock::now();
  {
    const ChildProcess child([] {
      sleep(60);
      return std::string();
    });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

// The middle process is killed while its own child sleeps; the pipe it leaves closes when the grandchild is gone too.
TEST(ChildProcess, DiesWithItsParent) {
  int alive[2] = {};
  ASSERT_EQ(pipe(alive), 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const ChildProcess grandchild([] {
      sleep(60);
      return std::string();
    });
    raise(SIGKILL);
  }
  close(alive[1]);
  waitpid(middle, nullptr, 0);
  char byte = 0;
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(read(alive[0], &byte, 1), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
}

}  // namespace
}  // namespace uvmsim
