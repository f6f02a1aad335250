#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/program.h"
#include "cli/progress_bar.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Texts of errors, whole: what users read most.
class SweepCommand : public testing::Test {
 protected:
  ~SweepCommand() override { fs::remove_all(folder_); }

  ExitCode run(const std::vector<std::string>& arguments) {
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  // A sweep of small vector additions.
  ExitCode sweep(std::vector<std::string> more) {
    more.insert(more.begin(), {"sweep", "vector_add_v100", "--no-in-core", "--set", "workload.elements=10000"});
    return run(more);
  }

  std::string folder_ = testing::TempDir() + "sweep_command_" + std::to_string(getpid());
  std::string out_, err_;
};

// A generator on a named machine, as `run` takes them. A trace's durations are those of one machine.
TEST_F(SweepCommand, TakesAGeneratorAndAMachineByName) {
  ASSERT_EQ(run({"sweep", "vector_add", "--machine", "rtx3080", "--sweep", "workload.elements=1000,2000", "--dry-run"}),
            ExitCode::Done)
      << err_;
  EXPECT_EQ(std::ranges::count(out_, '\n'), 2);
  EXPECT_EQ(run({"sweep", "vector_add", "--machine", "v100", "--sweep", "workload.elements=1,2", "--dry-run"}),
            ExitCode::InputError);
  EXPECT_THAT(err_,
              HasSubstr("no file and no bundled machine is named \"v100\"; which of v100_pcie_16gb, v100_pcie_32gb"));
}

TEST_F(SweepCommand, SaysWhatIsMissing) {
  EXPECT_EQ(run({"sweep"}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: sweep: expected a config, or merge or show\n");
  EXPECT_EQ(sweep({"--sweep", "run.warmup=1,2"}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: sweep: expected -o DIR, the folder for the results\n");
  EXPECT_EQ(run({"sweep", "show", folder_}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: " + folder_ + ": holds no sweep\n");
}

TEST_F(SweepCommand, RefusesWrongLimitsAndShards) {
  EXPECT_EQ(sweep({"--sweep", "run.warmup=1,2", "-o", folder_, "--memory", "lots"}), ExitCode::InputError);
  EXPECT_EQ(err_,
            "uvmsim: --memory lots: expected a size such as \"32 GiB\" (B, KB, KiB, MB, MiB, GB, GiB, TB, TiB)\n");
  EXPECT_EQ(sweep({"--sweep", "run.warmup=1,2", "-o", folder_, "--shard", "5/4"}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: --shard 5/4: expected one such as 3/16, the third of sixteen\n");
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(SweepCommand, NamesAllFaultsOfAllAxesAndWritesNothing) {
  EXPECT_EQ(sweep({"--sweep", "run.warmp=1,2", "--sweep", "workload.elements=0,5", "-o", folder_}),
            ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("did you mean \"warmup\"?"));
  EXPECT_THAT(err_, HasSubstr("/workload/elements"));
  EXPECT_EQ(sweep({"--sweep", "run.warmup=range(3,1)", "--sweep", "a", "-o", folder_}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("--sweep: range(3,1) has no values: its steps lead away from its end"));
  EXPECT_THAT(err_, HasSubstr("--sweep: expected KEY=VALUE,VALUE,..., such as workload.batch=48,98, got \"a\""));
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(SweepCommand, ShowsItsPointsBeforeItStarts) {
  EXPECT_EQ(sweep({"--sweep", "run.warmup=1,2", "--dry-run"}), ExitCode::Done);
  EXPECT_THAT(out_, testing::ContainsRegex("^[0-9a-f]{16} run.warmup=1\n[0-9a-f]{16} run.warmup=2\n$"));
}

TEST_F(SweepCommand, KeepsShowsAndComparesSweeps) {
  EXPECT_EQ(sweep({"--sweep", "run.warmup=0,1", "-j", "2", "-o", folder_ + "/a", "--json"}), ExitCode::Done);
  const nlohmann::json points = nlohmann::json::parse(out_)["sweeps"][0]["points"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1]["settings"]["run.warmup"], 1);
  EXPECT_EQ(points[1]["outcome"], "completed");
  EXPECT_TRUE(fs::exists(folder_ + "/a/sweep.csv"));
  EXPECT_EQ(sweep({"--sweep", "run.warmup=0,1", "-o", folder_ + "/a"}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: " + folder_ + "/a: holds results of a sweep; --resume continues it\n");
  EXPECT_EQ(run({"sweep", "show", folder_ + "/a"}), ExitCode::Done);
  EXPECT_THAT(out_, HasSubstr("warmup"));

  EXPECT_EQ(run({"sweep", "merge", folder_ + "/b", folder_ + "/a"}), ExitCode::Done);
  EXPECT_EQ(out_, folder_ + "/a: 2 results\n");
  EXPECT_EQ(run({"sweep", "merge", folder_ + "/b", folder_ + "/a", "--json"}), ExitCode::Done);
  EXPECT_EQ(nlohmann::json::parse(out_)["merged"][folder_ + "/a"], 0);  // they are there
  EXPECT_EQ(run({"diff", folder_ + "/a", folder_ + "/b"}), ExitCode::Done);
  EXPECT_EQ(out_, "0 points differ, 2 are the same, 0 are only in the first, 0 only in the second\n");
}

// 3 x 40 GB of cudaMalloc on a card of 16 GiB: a result of the model, not a failure of the sweep.
TEST_F(SweepCommand, RunningOutOfMemoryIsAResult) {
  EXPECT_EQ(run({"sweep", "vector_add_v100", "--no-in-core", "--set", "workload.memory=device", "--sweep",
                 "workload.elements=10000,10000000000", "-o", folder_}),
            ExitCode::Done);
  EXPECT_THAT(out_, HasSubstr("out_of_memory"));
}

// Each config is right by itself; what does not fit shows when the trace is made.
TEST_F(SweepCommand, FailedPointsAreCountedAndRecorded) {
  EXPECT_EQ(sweep({"--set", "workload.sync_gradients=true", "--set", "workload.sync_every=2", "--sweep",
                   "run.iterations=3,5", "-o", folder_}),
            ExitCode::Incomplete);
  EXPECT_EQ(err_, "uvmsim: 2 of 2 points failed; --resume tries them again\n");
  EXPECT_THAT(out_, HasSubstr("2 points failed: "));
  EXPECT_THAT(out_, HasSubstr("expected a multiple of workload.sync_every"));
}

TEST_F(SweepCommand, DiffRefusesWhatIsNoResult) {
  EXPECT_EQ(run({"diff", folder_, folder_}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: " + folder_ + ": no such file or folder\n");
  EXPECT_EQ(run({"diff", "/proc/self", "/proc/self/status"}), ExitCode::InputError);
  EXPECT_EQ(err_, "uvmsim: /proc/self: holds no result.json\n");
}

TEST_F(SweepCommand, DoctorFindsAnInstallation) {
  EXPECT_EQ(run({"doctor", "--json"}), ExitCode::Done);
  const nlohmann::json found = nlohmann::json::parse(out_);
  EXPECT_GT(found["machines"], 10);
  EXPECT_GT(found["cores"], 0);
  EXPECT_TRUE(found["problems"].empty());
  EXPECT_TRUE(found["optional"].contains("cbc"));
}

TEST_F(SweepCommand, HelpNamesEveryExitStatus) {
  EXPECT_EQ(run({"--help"}), ExitCode::Done);
  for (const ExitStatus& status : exit_statuses()) EXPECT_THAT(out_, HasSubstr(status.meaning));
}

TEST(SweepProgress, TimesAreShort) {
  using namespace std::chrono_literals;
  EXPECT_EQ(time_left_text(59s), "59 s");
  EXPECT_EQ(time_left_text(700s), "12 min");
  EXPECT_EQ(time_left_text(3900s), "1 h 05 min");
}

// Words that mean something to a shell, or to roff, come out as they are.
TEST(Completion, QuotesForEachLanguage) {
  Command root{
      .name = "p", .path = "p", .doc = ".it's [a] back\\slash: b", .options = {}, .arguments = {}, .verbs = {}};
  root.options.push_back({.long_name = "--x",
                          .short_name = "",
                          .doc = "it's [b]: c",
                          .takes_value = false,
                          .repeatable = false,
                          .choices = {}});
  EXPECT_THAT(zsh_completion(root, {}), HasSubstr(R"('--x[it'\''s \[b\]\: c]')"));
  EXPECT_THAT(fish_completion(root, {}), HasSubstr(R"(-l x -d 'it\'s [b]: c')"));
  EXPECT_THAT(man_page(root, "1"), HasSubstr(R"(\&.it's [a] back\eslash: b)"));
}

}  // namespace
}  // namespace uvmsim
