#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

class PipelineCommand : public testing::Test {
 protected:
  // GPT-2 in micro-batches of one on four GPUs of 32 GB.
  ExitCode ask(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"pipeline",        "gpt2", "--machine", "v100_pcie_x4_dual_root", "--set",
                                          "workload.batch=1"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

// 4 x 1, 2 x 2, 1 x 4; sixteen samples are 4, 8 and 16 micro-batches of each pipeline. GPipe and 1F1B wait alike, and
// GPipe keeps more; a second version of the weights costs memory, and time is gained where there are several stages.
TEST_F(PipelineCommand, PlansWidthDepthAndSchedule) {
  ASSERT_EQ(ask({"--json"}), ExitCode::Done) << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["batch"], 16);
  EXPECT_NEAR(json["weights_bytes"].get<double>(), 4 * 124.4e6, 4 * 0.1e6);  // 124.4 M parameters
  EXPECT_EQ(json["choices"].size(), 3u * 4 * 2);
  double last = 1e9;
  std::map<std::string, nlohmann::json> deepest;
  for (const auto& choice : json["choices"]) {
    EXPECT_LE(choice["samples_per_s"].get<double>(), last);
    last = choice["samples_per_s"];
    EXPECT_EQ(choice["width"].get<int>() * choice["depth"].get<int>(), 4);
    EXPECT_EQ(choice["micro_batches"].get<int>() * choice["width"].get<int>(), 16);
    if (choice["depth"] == 4 && !choice["recompute"]) deepest[choice["schedule"]] = choice;
  }
  EXPECT_LT(deepest["pipedream_2bw"]["batch_s"], deepest["1f1b"]["batch_s"]);
  EXPECT_LT(deepest["1f1b"]["batch_s"], deepest["model_parallel"]["batch_s"]);
  EXPECT_LT(deepest["1f1b"]["memory_bytes"], deepest["pipedream_2bw"]["memory_bytes"]);
  EXPECT_LT(deepest["pipedream_2bw"]["memory_bytes"], deepest["gpipe"]["memory_bytes"]);
}

// The first in the table that is no data parallelism alone.
TEST_F(PipelineCommand, SaysHowToSimulateTheBest) {
  ASSERT_EQ(ask({}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr(R"(workload.transforms=[{"name":"pipeline","stages":2,"width":2,"micro_batches":8,)"
                              R"("schedule":"pipedream_2bw"}])"));
}

TEST_F(PipelineCommand, RefusesABatchThatDoesNotDivide) {
  EXPECT_EQ(ask({"--set", "workload.batch=2", "--batch", "7"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("7 samples make no whole micro-batches of 2 for any number of pipelines of 4 GPUs"));
}

TEST_F(PipelineCommand, RefusesMoreGpusThanThereAre) {
  EXPECT_EQ(ask({"--gpus", "8"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("8 GPUs, the machine has 4"));
}

}  // namespace
}  // namespace uvmsim
