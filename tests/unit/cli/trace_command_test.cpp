#include "cli/trace_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

#include "support/trace_text.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kGood = trace::text_of(trace::trace_of(trace::kTestHeader + "[\"A\",1,64,0]\n[\"I\",0]\n"));

class TraceCommand : public testing::Test {
 protected:
  TraceCommand() { std::filesystem::create_directories(folder_); }
  ~TraceCommand() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  // `uvmsim trace ARGUMENTS`; throws what a verb throws.
  ExitCode run(std::vector<std::string> arguments) {
    CLI::App app;
    Console console{out_, err_};
    add_trace_command(Verb(app), console);
    arguments.insert(arguments.begin(), "trace");
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return console.exit;
  }

  std::ostringstream out_, err_;

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("trace_command_" + std::to_string(getpid()));
};

TEST_F(TraceCommand, CheckSaysHowManyRecordsAreFine) {
  const std::string file = write("a.uvmtrace", kGood + "[\"Q\"]\n");
  EXPECT_EQ(run({"check", file}), ExitCode::Done);
  EXPECT_EQ(out_.str(), file + ": ok, 2 records, 1 of unknown kind ignored\n");
}

TEST_F(TraceCommand, CheckNamesOptionsWithoutEffect) {
  const std::string file = write("a.uvmtrace", kGood + "[\"S\",0,\"k\"]\n[\"K\",0,0,5,[[1,1,4,{\"dep\":1}]]]\n");
  EXPECT_EQ(run({"check", file}), ExitCode::Done);
  EXPECT_THAT(out_.str(), testing::EndsWith(" records, options that their pattern does not take: bcast.dep (1)\n"));
}

TEST_F(TraceCommand, CheckShowsTheFaultsOfEveryFile) {
  const std::string bad = write("bad.uvmtrace", kGood + "[\"F\",2]\n"), good = write("good.uvmtrace", kGood);
  EXPECT_EQ(run({"check", bad, good, path("none")}), ExitCode::InputError);
  EXPECT_EQ(out_.str(), good + ": ok, 2 records\n");
  EXPECT_EQ(err_.str(), bad + ": 1 error\n  " + bad + ":4: tensor 2 is freed but was never allocated\n" + path("none") +
                            ": cannot be opened: No such file or directory\n");
}

TEST_F(TraceCommand, InfoPrintsTextOrJson) {
  const std::string file = write("a", kGood);
  run({"info", file});
  EXPECT_THAT(out_.str(), HasSubstr("records        2: 1 allocations, 1 iterations\n"));
  out_.str("");
  run({"info", file, "--json"});
  EXPECT_EQ(nlohmann::json::parse(out_.str())["peak_live_bytes"], 64);
}

TEST_F(TraceCommand, ConvertPacksAndUnpacksByTheName) {
  const std::string plain = write("a.uvmtrace", kGood);
  run({"convert", plain, path("b.uvmtrace.zst"), "--level", "19"});
  EXPECT_EQ(read("b.uvmtrace.zst").substr(0, 4), "\x28\xb5\x2f\xfd");
  run({"convert", path("b.uvmtrace.zst"), path("c.uvmtrace")});
  EXPECT_EQ(read("c.uvmtrace"), kGood);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(TraceCommand, ConvertSaysWhatItLeftOut) {
  const std::string file = write("a", kGood + "[\"Q\"]\n[\"Y\",-1,{\"x\":1}]\n");
  run({"convert", file, path("b")});
  EXPECT_EQ(read("b"), kGood + "[\"Y\",-1]\n");
  EXPECT_EQ(err_.str(), path("b") + ": left out 1 records and 1 keys of unknown kind\n");
}

TEST_F(TraceCommand, ConvertDoesNotReplaceWhatItReads) {
  const std::string file = write("a", kGood + "[\"Q\"]\n");
  EXPECT_THROW(run({"convert", file, file}), UserError);
  EXPECT_EQ(read("a"), kGood + "[\"Q\"]\n");
}

TEST_F(TraceCommand, ABadTraceLeavesTheOutputAsItWas) {
  const std::string bad = write("bad", kGood + "[\"F\",2]\n"), old = write("old", "kept");
  EXPECT_THROW(run({"convert", bad, old}), UserError);
  EXPECT_THROW(run({"convert", bad, path("new")}), UserError);
  EXPECT_EQ(read("old"), "kept");
  EXPECT_THAT(files(), ElementsAre("bad", "old"));
}

TEST_F(TraceCommand, AnOutputThatCannotBeWrittenIsNoFaultOfTheTrace) {
  const std::string file = write("a", kGood);
  EXPECT_THROW(run({"convert", file, path("none/b")}), std::system_error);
  EXPECT_THROW(run({"convert", file, "/dev/null/b"}), std::system_error);
}

TEST_F(TraceCommand, GenWritesTheSameValidTraceEveryTime) {
  run({"gen", "stream_triad", "--iterations", "2", "-o", path("a.uvmtrace")});
  run({"gen", "stream_triad", "--iterations", "2", "-o", path("b.uvmtrace")});
  EXPECT_EQ(read("a.uvmtrace"), read("b.uvmtrace"));
  EXPECT_EQ(run({"check", path("a.uvmtrace")}), ExitCode::Done);
}

TEST_F(TraceCommand, GenRefusesWhatTheGeneratorDoesNotKnow) {
  EXPECT_THAT(
      [&] {
        run({"gen", "stream_traid", "-o", path("a")});
      },
      ThrowsMessage<UserError>(HasSubstr("did you mean \"stream_triad\"?")));
  EXPECT_THAT(
      [&] {
        run({"gen", "stream_triad", "--set", "no_such=1", "--set", "nor_this=2", "-o", path("a")});
      },
      ThrowsMessage<UserError>(HasSubstr("stream_triad: 2 errors")));
  EXPECT_TRUE(files().empty());
}

// Two tensors of 64 B without a framework allocator: each is a driver allocation, and the first is freed.
TEST_F(TraceCommand, PoolWritesUsedAndHeldBytesPerEvent) {
  const std::string file = write(
      "two.uvmtrace",
      trace::text_of(trace::trace_of(trace::kTestHeader + "[\"A\",1,64,0]\n[\"A\",2,64,0]\n[\"F\",1]\n[\"I\",0]\n")));
  EXPECT_EQ(run({"pool", file, "--allocator", "none", "--csv", path("pool.csv")}), ExitCode::Done);
  EXPECT_EQ(read("pool.csv"), "index,used_bytes,pool_bytes,device\n1,64,64,0\n2,128,128,0\n3,64,64,0\n");
  EXPECT_THAT(out_.str(), HasSubstr("device 0: at most 128 B used, 128 B held in 1 driver allocations"));
}

TEST_F(TraceCommand, PoolSaysWhenMemoryRunsOut) {
  EXPECT_EQ(
      run({"pool", "vector_add", "--allocator", "none", "--set", "memory=device", "--set", "elements=5000000000"}),
      ExitCode::Incomplete);
  EXPECT_THAT(out_.str(), HasSubstr("out of memory: no memory for tensor 2"));
}

TEST_F(TraceCommand, PoolRefusesWhatIsNeitherAFileNorAGenerator) {
  EXPECT_THAT(
      [&] {
        run({"pool", "vector_ad"});
      },
      ThrowsMessage<UserError>(HasSubstr("vector_ad is no file and no generator; did you mean \"vector_add\"?")));
}

}  // namespace
}  // namespace uvmsim
