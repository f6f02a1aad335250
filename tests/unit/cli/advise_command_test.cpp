// `uvmsim advise`, from arguments to the short list.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

// AlexNet at a batch that takes 4.2 GB, on a GPU with 2.5 GB.
class AdviseCommand : public testing::Test {
 protected:
  ExitCode run(const std::vector<std::string>& options, const std::string& memory = "2.5 GB") {
    std::vector<std::string> arguments = {"advise", "alexnet", "--quiet", "--budget", budget_};
    for (const std::string& setting : {std::string("workload.batch=512"), "machine.gpu.usable_memory=" + memory,
                                       std::string("run.warmup=1"), std::string("run.iterations=1")})
      arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string budget_ = "300 s";
  std::string out_, err_;
};

TEST_F(AdviseCommand, RanksWhatHelpsAndSaysWhyNotTheOthers) {
  ASSERT_EQ(run({"--on", "a100_40gb", "--json"}), ExitCode::Done) << err_;
  const nlohmann::json advice = nlohmann::json::parse(out_);
  EXPECT_FALSE(advice["fits"]);
  EXPECT_GT(advice["need_bytes"], advice["usable_bytes"]);
  EXPECT_GT(advice["duration_s"], advice["in_core_duration_s"]);
  EXPECT_LT(advice["largest_batch"], 512);
  // The list holds what gains by more than its error, the best first.
  double before = 1e9;
  for (const nlohmann::json& name : advice["advice"]) {
    const auto is_it = [&](const nlohmann::json& trial) { return trial["name"] == name; };
    const nlohmann::json trial = *std::find_if(advice["trials"].begin(), advice["trials"].end(), is_it);
    EXPECT_TRUE(trial["told_apart"]) << name;
    EXPECT_GT(trial["gain_low"], 1.0) << name;
    EXPECT_LE(trial["gain"], before) << name;
    before = trial["gain"];
  }
  ASSERT_FALSE(advice["advice"].empty());
  for (const nlohmann::json& trial : advice["trials"]) EXPECT_TRUE(trial["tried"]) << trial["name"];
}

TEST_F(AdviseCommand, PrintsTheLineToChange) {
  ASSERT_EQ(run({}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("Does it fit?\n  No: it takes "));
  EXPECT_THAT(out_, HasSubstr("How slow is it?\n  An iteration takes "));
  EXPECT_THAT(out_, HasSubstr("What to change, best first: samples/s against now"));
  EXPECT_THAT(out_, HasSubstr("change: "));
  EXPECT_THAT(
      out_, HasSubstr("try:    uvmsim run alexnet --set workload.batch=512 --set 'machine.gpu.usable_memory=2.5 GB'"));
  EXPECT_THAT(out_, HasSubstr("Why not the others"));
}

// With 16 GB nothing moves: policies and planners are not tried; cudaMalloc and larger batches are.
TEST_F(AdviseCommand, OfWhatFitsTriesLargerBatches) {
  ASSERT_EQ(run({"--json"}, "16 GB"), ExitCode::Done) << err_;
  const nlohmann::json advice = nlohmann::json::parse(out_);
  EXPECT_TRUE(advice["fits"]);
  EXPECT_GT(advice["largest_batch"], 512);
  for (const nlohmann::json& trial : advice["trials"])
    EXPECT_THAT(trial["kind"], testing::AnyOf("batch", "memory", "parameter"));
}

// The first second is over before anything can have run.
TEST_F(AdviseCommand, SaysWhatThereWasNoTimeFor) {
  budget_ = "1 s";
  EXPECT_EQ(run({"--set", "workload.batch=4096", "--set", "run.warmup=40"}), ExitCode::Incomplete) << err_;
  EXPECT_THAT(out_, HasSubstr("There was no time to find out; give more with --budget."));
  EXPECT_THAT(out_, HasSubstr("Not tried in 1 s (--budget)\n"));
  EXPECT_THAT(out_, HasSubstr("threshold_5"));
}

TEST_F(AdviseCommand, RefusesWhatItCannotUse) {
  EXPECT_EQ(run({"--on", "a100_40g,rtx3080,rtx3080"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("no file and no bundled machine is named \"a100_40g\"; did you mean \"a100_40gb\"?"));
  EXPECT_THAT(err_, HasSubstr("\"rtx3080\" is named twice"));
  budget_ = "soon";
  EXPECT_EQ(run({}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("--budget soon: expected a time of at least a second"));
  EXPECT_EQ(out_, "");
}

}  // namespace
}  // namespace uvmsim
