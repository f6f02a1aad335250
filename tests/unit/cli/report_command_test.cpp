#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "cli/program.h"
#include "report/json.h"
#include "support/read_file.h"
#include "support/sample_result.h"

namespace uvmsim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

class ReportCommand : public testing::Test {
 protected:
  ReportCommand() { fs::create_directories(folder_); }
  ~ReportCommand() override { fs::remove_all(folder_); }

  ExitCode report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    err_ = err.str();
    return exit;
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_ = testing::TempDir() + "report_command_" + std::to_string(getpid());
  std::string err_;
};

// A folder of result folders, one with a result, and a sweep beside it.
TEST_F(ReportCommand, ShowsWhatTheFoldersHold) {
  write("runs/a/result.json", to_json(make_report(test::sample_result(), {}, {.version = "1", .experiment = "first"})));
  write("sweep/sweep.csv", "sweep,place,hash,workload.batch,outcome,error,duration_s\n1,0,aa,48,completed,,1.5\n");
  const std::string page = folder_ / "report.html";
  EXPECT_EQ(report({folder_ / "runs", folder_ / "sweep", "-o", page}), ExitCode::Done) << err_;
  const std::string html = test::read_file(page).value();
  EXPECT_THAT(html, AllOf(HasSubstr("\"name\":\"first\""), HasSubstr("\"axes\":[\"workload.batch\"]")));
}

// A disk that is full, say, between two runs into one folder. The digest is FNV-1a of 64 bits: of "a" as published.
TEST_F(ReportCommand, RefusesAFolderWithFilesOfTwoRuns) {
  const std::string page = folder_ / "report.html";
  write("run/result.json", to_json(make_report(test::sample_result(), {}, {.version = "1", .experiment = "first"})));
  write("run/observations.json", "a");
  write("run/manifest.json", R"({"files": {"observations.json": "af63dc4c8601ec8c"}})");
  EXPECT_EQ(report({folder_ / "run", "-o", page}), ExitCode::Done) << err_;
  fs::remove(page);

  write("run/manifest.json", R"({"files": {"observations.json": "af63dc4c8601ec8c", "result.json": "0"}})");
  write("run/observations.json", "b");
  EXPECT_EQ(report({folder_ / "run", "-o", page}), ExitCode::InputError);
  EXPECT_THAT(err_, AllOf(HasSubstr("observations.json: is not of the run that manifest.json is of"),
                          HasSubstr("result.json: is not of the run")));
  EXPECT_FALSE(fs::exists(page));
}

TEST_F(ReportCommand, DoesNotReplaceWhatItReads) {
  const std::string result = folder_ / "result.json";
  write("result.json", to_json(make_report(test::sample_result(), {}, {.version = "1", .experiment = "first"})));
  const auto before = test::read_file(result);
  EXPECT_EQ(report({result, "-o", result}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("is an input of this command"));
  EXPECT_EQ(test::read_file(result), before);
}

// All paths that are of no use are named, and nothing is written.
TEST_F(ReportCommand, NamesEverythingItCannotShow) {
  write("other.json", "{\"a\": 1}");
  const std::string page = folder_ / "report.html";
  EXPECT_EQ(report({folder_ / "other.json", folder_ / "none", "-o", page}), ExitCode::InputError);
  EXPECT_THAT(err_, AllOf(HasSubstr("other.json"), HasSubstr("there is no such file or folder")));
  EXPECT_FALSE(fs::exists(page));
}

}  // namespace
}  // namespace uvmsim
