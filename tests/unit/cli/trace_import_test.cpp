#include "cli/trace_import.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <unistd.h>

#include "base/user_error.h"
#include "trace/reader.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class TraceImport : public testing::Test {
 protected:
  TraceImport() { std::filesystem::create_directories(folder_); }
  ~TraceImport() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  void run(std::vector<std::string> arguments) {
    CLI::App app;
    Console console{out_, err_};
    add_trace_import(Verb(app), console);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  }

  std::ostringstream out_, err_;

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("trace_import_" + std::to_string(getpid()));
};

const std::string kLog =
    "Thread,Time,Action,Pointer,Size,Stream\n"
    "1,0,allocate,0x1000,4096,0\n"
    "1,0,free,0x9000,4096,0\n";

TEST_F(TraceImport, WritesATraceAndSaysWhatIsUnknown) {
  run({"import", write("rmm.csv", kLog), "-o", path("a.uvmtrace.zst")});
  EXPECT_EQ(trace::read_trace(path("a.uvmtrace.zst")).records.size(), 1u);
  EXPECT_THAT(err_.str(), HasSubstr("a.uvmtrace.zst: 1 records"));
  EXPECT_THAT(err_.str(), HasSubstr("unknown: 1 frees of what was allocated before the log began: left out\n"));
  EXPECT_THAT(err_.str(), HasSubstr("unknown: iterations: none marked, and the kernels' names do not repeat\n"));
}

TEST_F(TraceImport, WritesNothingWhenThereIsAFault) {
  const std::string file = write("rmm.csv", kLog + "1,0,grow,0x1000,4096,0\n");
  EXPECT_THAT(
      [&] {
        run({"import", file, "-o", path("a.uvmtrace")});
      },
      ThrowsMessage<UserError>(HasSubstr("rmm.csv:4: expected allocate, free")));
  EXPECT_FALSE(std::filesystem::exists(path("a.uvmtrace")));
}

TEST_F(TraceImport, CutKeepsTheIterationsFromFirstToEnd) {
  const std::string file = write("t", "[\"M\",{\"v\":1}]\n[\"I\",0]\n[\"I\",1]\n[\"Y\"]\n[\"I\",2]\n");
  run({"cut", file, "--iterations", "1:2", "-o", path("part")});
  EXPECT_EQ(trace::read_trace(path("part")).records.size(), 2u);
  EXPECT_THAT(
      [&] {
        run({"cut", file, "--iterations", "2:1", "-o", path("part")});
      },
      ThrowsMessage<UserError>(HasSubstr("expected FIRST:END")));
  EXPECT_THAT(
      [&] {
        run({"cut", file, "--iterations", "1:9", "-o", path("part")});
      },
      ThrowsMessage<UserError>(HasSubstr("the trace has 3")));
}

// A100-40 against V100: 19.5 over 15.7 TFLOP/s, both at the same share of the peak: 1570 us become 1264.
TEST_F(TraceImport, RetargetScalesToTheGpuOfAnotherMachine) {
  const std::string file = write("t", "[\"M\",{\"v\":1}]\n[\"S\",0,\"sgemm\"]\n[\"K\",0,0,1570000]\n");
  run({"retarget", file, "--from", "v100_sxm2_32gb", "--to", "a100_40gb", "-o", path("out")});
  const trace::Trace trace = trace::read_trace(path("out"));
  EXPECT_NEAR(static_cast<double>(std::get<trace::Kernel>(trace.records[0]).duration_ns), 1570000 * 15.7 / 19.5, 1);
  EXPECT_EQ(trace.header.devices.at(0).name, "A100-SXM4-40GB");
  EXPECT_THAT(
      [&] {
        run({"retarget", file, "--from", "v100", "--to", "a100_40g", "-o", path("out")});
      },
      ThrowsMessage<UserError>(HasSubstr("no bundled machine is named")));
}

}  // namespace
}  // namespace uvmsim
