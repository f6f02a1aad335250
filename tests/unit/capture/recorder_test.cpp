#include "recorder.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "arguments.h"
#include "settings.h"

namespace uvmcap {
namespace {

std::uint64_t time_now = 0;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    std::string name = std::filesystem::temp_directory_path() / "uvmcap_XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "out.jsonl";
    time_now = 0;
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

  std::string written(const std::string& name = "out.jsonl") const {
    std::ifstream file(folder_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  static Recorder::Clock clock() {
    return [] { return time_now; };
  }

  std::filesystem::path folder_, path_;
};

constexpr std::uint64_t kNever = UINT64_MAX;

TEST_F(RecorderTest, CountsWhatItWroteInTheLastLine) {
  {
    Recorder recorder(path_, 0, kNever, clock());
    recorder.write(Note{"n"});
    recorder.write(Mark{.time = 1, .thread = 0, .text = "m"});
    recorder.write(GraphLaunch{});
    recorder.write(SetRun{});
    recorder.write(Dropped{5});
    recorder.write(Dropped{2});
  }
  EXPECT_NE(written().find("{\"k\":\"dropped\",\"n\":5}\n"), std::string::npos);
  EXPECT_TRUE(written().ends_with("{\"k\":\"end\",\"t\":0,\"host\":2,\"gpu\":1,\"dropped\":7}\n"));
}

TEST_F(RecorderTest, WritesAStreamOfADeviceOnce) {
  Recorder recorder(path_, 0, kNever, clock());
  for (const std::uint32_t device : {0U, 1U, 0U})
    recorder.write(StreamInfo{.stream = 7, .context = 1, .device = device});
  recorder.flush();
  EXPECT_EQ(written(),
            "{\"k\":\"stream\",\"st\":7,\"ctx\":1,\"dev\":0}\n{\"k\":\"stream\",\"st\":7,\"ctx\":1,\"dev\":1}\n");
}

TEST_F(RecorderTest, HandsOverWhatIsOlderThanTheInterval) {
  Recorder recorder(path_, 0, 100, clock());
  recorder.write(Note{"a"});
  EXPECT_EQ(written(), "");
  time_now = 100;
  recorder.write(Note{"b"});
  EXPECT_EQ(written(), "{\"k\":\"note\",\"text\":\"a\"}\n{\"k\":\"note\",\"text\":\"b\"}\n");
}

TEST_F(RecorderTest, AKilledProgramKeepsWholeLines) {
  const pid_t child = fork();
  if (child == 0) {
    Recorder recorder(path_, 0, 0, clock());
    for (int i = 0; i < 1000; ++i) recorder.write(Note{"line " + std::to_string(i)});
    std::raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(written().ends_with("{\"k\":\"note\",\"text\":\"line 999\"}\n"));
}

TEST_F(RecorderTest, AForkedChildWritesNothing) {
  Recorder recorder(path_, 0, kNever, clock());
  recorder.write(Note{"parent"});
  const pid_t child = fork();
  if (child == 0) {
    recorder.abandon();
    recorder.write(Note{"child"});
    recorder.end();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  recorder.flush();
  EXPECT_EQ(written(), "{\"k\":\"note\",\"text\":\"parent\"}\n");
}

// A line is 22 bytes and its text: the fourth passes 100 bytes.
TEST_F(RecorderTest, StopsAtItsLimitAndSaysSo) {
  Recorder recorder(path_, 100, kNever, clock());
  for (int i = 0; i < 10; ++i) recorder.write(Note{"12345"});
  EXPECT_FALSE(recorder.active());
  const std::string line = "{\"k\":\"note\",\"text\":\"12345\"}\n";
  EXPECT_EQ(written(), line + line + line + line +
                           "{\"k\":\"limit\"}\n{\"k\":\"end\",\"t\":0,\"host\":0,\"gpu\":0,\"dropped\":0}\n");
}

TEST_F(RecorderTest, NeverOverwrites) {
  std::ofstream(path_) << "mine";
  Recorder recorder(path_, 0, kNever, clock());
  recorder.end();
  EXPECT_EQ(written(), "mine");
  EXPECT_TRUE(written("out.jsonl.2").starts_with("{\"k\":\"end\""));
}

TEST_F(RecorderTest, SaysWhyAFileCannotBeWritten) {
  Recorder recorder(folder_ / "none/out.jsonl", 0, kNever, clock());
  recorder.write(Note{"a"});
  EXPECT_FALSE(recorder.active());
  EXPECT_NE(recorder.error().find("none/out.jsonl: No such file or directory"), std::string::npos);
}

TEST_F(RecorderTest, LinesOfThreadsStayWhole) {
  {
    Recorder recorder(path_, 0, 0, clock());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) recorder.write(Note{std::string(100, 'x')});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::istringstream text(written());
  int whole = 0;
  for (std::string line; std::getline(text, line);) {
    whole += line == "{\"k\":\"note\",\"text\":\"" + std::string(100, 'x') + "\"}" ? 1 : 0;
  }
  EXPECT_EQ(whole, 2000);
}

TEST(External, BelongsToTheThreadAndNests) {
  push_external(1);
  push_external(2);
  std::uint64_t elsewhere = 99;
  std::thread([&] { elsewhere = top_external(); }).join();
  EXPECT_EQ(elsewhere, 0U);
  EXPECT_EQ(top_external(), 2U);
  pop_external();
  EXPECT_EQ(top_external(), 1U);
  pop_external();
  pop_external();  // one too many does no harm
  EXPECT_EQ(top_external(), 0U);
}

TEST(Allocations, FindsPointersIntoLiveOnesOnceAndInOrder) {
  Allocations allocations;
  allocations.add(0x1000, 0x100);
  allocations.add(0x2000, 0x100);
  allocations.add(0x3000, 0x100);
  allocations.remove(0x3000);
  allocations.remove(0x1010);  // not where one begins
  const std::array<std::uint64_t, 8> words = {0x20FF, 0x1000, 0x0FFF, 0x1100, 0x3000, 0x1000, 0x2000, 0};
  EXPECT_EQ(allocations.pointers_in(words), (std::vector<std::uint64_t>{0x20FF, 0x1000, 0x2000}));
}

TEST(Arguments, AreTheAlignedWordsOfEachParameter) {
  std::uint64_t pointer = 0x1000;
  int count = 7;
  struct {
    float scale;
    std::uint64_t pointer;
  } by_value = {1.0F, 0x2000};
  void* parameters[] = {&pointer, &count, &by_value};
  const std::vector<std::uint64_t> words = argument_words(parameters, {8, 4, 16});
  ASSERT_EQ(words.size(), 3U);  // 1 of the pointer, 0 of the int, 2 of the struct
  EXPECT_EQ(words[0], 0x1000U);
  EXPECT_EQ(words[2], 0x2000U);
}

TEST(Arguments, ArePackedWhenTheLaunchSaysSo) {
  std::array<std::uint64_t, 3> buffer = {1, 2, 3};
  std::size_t bytes = 20;  // the last word is cut
  void* end = nullptr;
  void* buffer_key = reinterpret_cast<void*>(std::uintptr_t{1});
  void* bytes_key = reinterpret_cast<void*>(std::uintptr_t{2});
  void* extra[] = {buffer_key, buffer.data(), bytes_key, &bytes, end};
  EXPECT_EQ(packed_argument_words(extra), (std::vector<std::uint64_t>{1, 2}));
  void* no_size[] = {buffer_key, buffer.data(), end};
  EXPECT_EQ(packed_argument_words(no_size), std::nullopt);
}

Settings settings_of(const std::map<std::string, std::string>& variables, std::vector<std::string>& problems) {
  return read_settings(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      problems);
}

TEST(Settings, LeaveUnifiedMemoryOutUnlessAsked) {
  std::vector<std::string> problems;
  const Settings settings = settings_of({}, problems);
  EXPECT_TRUE(settings.has("args"));
  EXPECT_FALSE(settings.has("um"));
  EXPECT_TRUE(settings_of({{"UVMCAP_KINDS", "kernel,um"}}, problems).has("um"));
  EXPECT_TRUE(problems.empty());
}

TEST(Settings, SayWhatTheyIgnore) {
  std::vector<std::string> problems;
  const Settings settings =
      settings_of({{"UVMCAP_KINDS", "kernel,umm"}, {"UVMCAP_MAX_MB", "2x"}, {"UVMCAP_FLUSH_MS", "5"}}, problems);
  EXPECT_EQ(settings.kinds, std::vector<std::string>{"kernel"});
  EXPECT_EQ(settings.max_bytes, 0U);
  EXPECT_EQ(settings.flush_ns, 5'000'000U);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].find("'umm'"), std::string::npos);
  EXPECT_NE(problems[1].find("UVMCAP_MAX_MB=2x"), std::string::npos);
}

TEST(Settings, PutTheProcessIntoThePath) { EXPECT_EQ(path_for("a/%p.%p.jsonl", 42), "a/42.42.jsonl"); }

}  // namespace
}  // namespace uvmcap
