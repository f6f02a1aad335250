#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "report/view.h"

namespace uvmsim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kTrace = UVMSIM_SOURCE_DIR "/traces/vector_add.uvmtrace";

class AnalyseCommand : public testing::Test {
 protected:
  ExitCode analyse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "analyse");
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

TEST_F(AnalyseCommand, ShowsEveryViewOfATraceInBrief) {
  ASSERT_EQ(analyse({kTrace}), ExitCode::Done) << err_;
  for (const std::string& name : views().names()) EXPECT_THAT(out_, HasSubstr("\n" + name + ": "));
}

TEST_F(AnalyseCommand, PrintsTheViewsAskedForAsOneObject) {
  ASSERT_EQ(analyse({kTrace, "--json", "--view", "checkpoints,access_intervals"}), ExitCode::Done) << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["workload"], "vector_add");
  ASSERT_EQ(json["views"].size(), 2u);
  EXPECT_EQ(json["views"][0]["view"], "checkpoints");
  EXPECT_EQ(json["views"][1]["rows"][0]["kind"], "all");
}

// Three arrays of 4096 floats, 16 KiB each.
TEST_F(AnalyseCommand, TakesAConfigurationWithSettings) {
  ASSERT_EQ(analyse({"vector_add_v100", "--set", "workload.elements=4096", "--json", "--view", "gpu_capacity"}),
            ExitCode::Done)
      << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["views"][0]["rows"][0]["needs_bytes"], 3 * 16384);
}

TEST_F(AnalyseCommand, SaysWhenATraceRecordsNoMemory) {
  const std::string path = testing::TempDir() + "no_tensors.uvmtrace";
  std::ofstream(path) << R"(["M",{"v":1,"name":"bare"}])"
                      << "\n"
                      << R"(["S",0,"k"])"
                      << "\n"
                      << R"(["K",0,0,1000,[]])"
                      << "\n";
  ASSERT_EQ(analyse({path}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("unknown: no allocation is recorded"));
}

TEST_F(AnalyseCommand, RefusesEveryUnknownViewAtOnce) {
  EXPECT_EQ(analyse({kTrace, "--view", "period,lifetimes,zzz"}), ExitCode::InputError);
  EXPECT_THAT(err_, AllOf(HasSubstr("no view is named \"period\"; did you mean \"periods\"?"),
                          HasSubstr("no view is named \"zzz\"")));
  EXPECT_EQ(out_, "");
}

TEST_F(AnalyseCommand, RefusesWhatIsNoFileAndAMachineThatIsNotThere) {
  EXPECT_EQ(analyse({"vector_add_v10"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("vector_add_v100"));
  EXPECT_EQ(analyse({kTrace, "--machine", "v100_sxm2_32g"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("v100_sxm2_32gb"));
}

TEST_F(AnalyseCommand, RefusesATraceWithoutKernels) {
  const std::string path = testing::TempDir() + "no_kernels.uvmtrace";
  std::ofstream(path) << R"(["M",{"v":1,"name":"empty"}])"
                      << "\n";
  EXPECT_EQ(analyse({path}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("the trace has no kernels"));
}

}  // namespace
}  // namespace uvmsim
