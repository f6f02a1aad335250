#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

#include "cli/program.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// The bundled single-thread vector addition. A test runs one simulation at most: the engine is one per process.
class RunCommand : public testing::Test {
 protected:
  ~RunCommand() override { fs::remove_all(folder_); }

  ExitCode run(std::vector<std::string> options) {
    options.insert(options.begin(), {"run", "vector_add_v100"});
    std::ostringstream out, err;
    const ExitCode exit = run_program(options, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }

  std::string folder_ = testing::TempDir() + "run_command_" + std::to_string(getpid());
  std::string out_, err_;
};

TEST_F(RunCommand, PrintsNothingButOneJsonObject) {
  EXPECT_EQ(run({"--json", "--no-in-core"}), ExitCode::Done);
  const nlohmann::json result = nlohmann::json::parse(out_);
  EXPECT_EQ(result["outcome"], "completed");
  EXPECT_EQ(result["run"]["experiment"], "vector_add_v100");
  EXPECT_TRUE(result["summary"]["slowdown"].is_null());
  EXPECT_EQ(err_, "");
}

// Everything fits: unlimited memory changes nothing, to the last bit. Managed memory costs, though: what the host
// writes comes in by faults instead of in copies of whole arrays, and what it reads goes out page by page.
TEST_F(RunCommand, ComparesWithCudaMallocAndWithEnoughManagedMemory) {
  EXPECT_EQ(run({"--json"}), ExitCode::Done);
  const nlohmann::json result = nlohmann::json::parse(out_);
  EXPECT_EQ(result["summary"]["in_core_slowdown"], 1.0);
  EXPECT_GT(result["summary"]["slowdown"], 1.0);
  EXPECT_GT(result["run"]["host"]["in_core_peak_rss_bytes"], 0);
}

// Explicit memory is its own reference.
TEST_F(RunCommand, WithoutManagedMemoryBothReferencesAreTheRun) {
  EXPECT_EQ(run({"--json", "--set", "workload.memory=device"}), ExitCode::Done);
  const nlohmann::json summary = nlohmann::json::parse(out_)["summary"];
  EXPECT_EQ(summary["slowdown"], 1.0);
  EXPECT_EQ(summary["cuda_malloc_duration_s"], summary["in_core_duration_s"]);
}

// After the warm-up the arrays stay on the GPU: an iteration takes what calibration asks for.
TEST_F(RunCommand, AnInCoreIterationTakesTheCalibratedTime) {
  EXPECT_EQ(run({"--json", "--set", "workload.calibrate.in_core=50 ms", "--set", "workload.read_back=false", "--set",
                 "run.warmup=1", "--set", "run.iterations=2"}),
            ExitCode::Done);
  const nlohmann::json summary = nlohmann::json::parse(out_)["summary"];
  EXPECT_NEAR(summary["in_core_duration_s"].get<double>(), 0.05, 1e-6);
  EXPECT_NEAR(summary["duration_s"].get<double>(), 0.05, 1e-6);
}

// The same iteration with its arrays on the host; what it is compared with finds them on the GPU.
TEST_F(RunCommand, AnIterationFromTheHostIsComparedWithOneInCore) {
  EXPECT_EQ(run({"--json", "--set", "workload.calibrate.in_core=50 ms", "--set", "workload.read_back=false", "--set",
                 "run.warmup=1", "--set", "run.iterations=1", "--set", "run.from_host=true"}),
            ExitCode::Done);
  const nlohmann::json summary = nlohmann::json::parse(out_)["summary"];
  EXPECT_NEAR(summary["in_core_duration_s"].get<double>(), 0.05, 1e-6);
  EXPECT_GT(summary["duration_s"].get<double>(), 0.1);
  EXPECT_EQ(summary["totals"]["h2d_bytes"], 3 * (128 << 20));
}

TEST_F(RunCommand, SaysThatAccessCountersAreHypothetical) {
  EXPECT_EQ(run({"--no-in-core", "--set", "driver.uvm_perf_access_counter_migration_enable=1", "--set",
                 "driver.version=595.45.04"}),
            ExitCode::Done);
  EXPECT_THAT(out_, HasSubstr("hypothetical on x86, where driver 595.45.04"));
}

TEST_F(RunCommand, SplitsTheWholeDuration) {
  EXPECT_EQ(run({"--json", "--no-in-core"}), ExitCode::Done);
  const nlohmann::json gpu = nlohmann::json::parse(out_)["summary"]["gpus"][0];
  double sum = 0;
  for (const auto& part : gpu["time_split_s"].items()) sum += part.value().get<double>();
  EXPECT_NEAR(sum, gpu["duration_s"].get<double>(), 1e-12);
}

TEST_F(RunCommand, KeepsWhatIsNeededToRepeatTheRun) {
  EXPECT_EQ(run({"--json", "--no-in-core", "--set", "workload.elements=1000000", "-o", folder_}), ExitCode::Done);
  EXPECT_EQ(test::read_file(folder_ + "/result.json"), out_);
  EXPECT_THAT(test::read_file(folder_ + "/result.txt").value_or(""), HasSubstr("Where the time went"));
  const auto manifest = nlohmann::json::parse(test::read_file(folder_ + "/manifest.json").value_or(""));
  EXPECT_EQ(manifest["inputs"], nlohmann::json::parse(out_)["run"]["inputs"]);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 5);  // those, config.json and observations.json

  std::ostringstream shown, err;
  EXPECT_EQ(run_program({"config", "show", "--json", folder_ + "/config.json"}, shown, err), ExitCode::Done);
  EXPECT_EQ(nlohmann::json::parse(shown.str())["workload"]["elements"]["value"], 1000000);
}

// What is there is of another configuration. Of the same one, it is replaced.
TEST_F(RunCommand, ReplacesAnotherResultOnlyWhenAsked) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/manifest.json") << R"({"files": {"config.json": "0"}})";
  const std::vector<std::string> options = {"--no-in-core", "--set", "workload.elements=1000000", "-o", folder_};
  EXPECT_EQ(run(options), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("holds the result of another configuration"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);

  std::vector<std::string> asked = options;
  asked.emplace_back("--overwrite");
  EXPECT_EQ(run(asked), ExitCode::Done);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 5);
}

TEST_F(RunCommand, WritesNothingWhenTheConfigIsWrong) {
  EXPECT_EQ(run({"-o", folder_, "--set", "workload.elemets=3", "--set", "run.warmup=-1"}), ExitCode::InputError);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, HasSubstr("did you mean"));
  EXPECT_THAT(err_, HasSubstr("/run/warmup"));
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RunCommand, RefusesAFolderThatIsAFile) {
  EXPECT_EQ(run({"-o", "/proc/self/status"}), ExitCode::SetupImpossible);
  EXPECT_THAT(err_, HasSubstr("/proc/self/status"));
}

// 3 x 40 GB of cudaMalloc on a card of 16 GiB. The reference, with unlimited memory, has no such error.
TEST_F(RunCommand, ReportsARunThatDidNotComplete) {
  EXPECT_EQ(run({"--json", "--set", "workload.memory=device", "--set", "workload.elements=10000000000"}),
            ExitCode::Incomplete);
  const nlohmann::json result = nlohmann::json::parse(out_);
  EXPECT_EQ(result["outcome"], "out_of_memory");
  EXPECT_NE(result["detail"], "");
  EXPECT_TRUE(result["summary"]["throughput"].is_null());
}

}  // namespace
}  // namespace uvmsim
