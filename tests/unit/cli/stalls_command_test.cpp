#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

class StallsCommand : public testing::Test {
 protected:
  // AlexNet on one GPU, with a data set of 100,000 items.
  ExitCode ask(const std::vector<std::string>& settings, const std::string& option = "--json") {
    std::vector<std::string> arguments = {"stalls", "alexnet", option};
    for (const char* setting : {"workload.batch=128", "workload.memory=device", "run.warmup=1", "run.iterations=1",
                                "data.items=100000", "data.cache_memory=5 GB"})
      arguments.insert(arguments.end(), {"--set", setting});
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

// Four cores at 100 items a second: the GPU waits for them, and for nothing else, where all items are in memory.
TEST_F(StallsCommand, SplitsTimeIntoComputePreparationAndStorage) {
  ASSERT_EQ(ask({"data.cores=4", "data.prep_rate=100", "data.cache=minio", "data.cache_memory=12 GB"}), ExitCode::Done)
      << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  const double gpu = json["base"]["synthetic_samples_per_s"];
  EXPECT_NEAR(json["base"]["samples_per_s"].get<double>(), 400, 0.01);
  EXPECT_NEAR(json["base"]["prep_stall"].get<double>(), 1 - 400 / gpu, 1e-4);
  EXPECT_NEAR(json["base"]["fetch_stall"].get<double>(), 0, 1e-9);
  EXPECT_EQ(json["cores_needed"], static_cast<int>(gpu / 100) + 1);
  EXPECT_EQ(json["what_ifs"][0]["name"], "twice the cores");
  EXPECT_NEAR(json["what_ifs"][0]["samples_per_s"].get<double>(), 800, 0.02);
}

// A disk of 11.3 MB/s reads 100 items a second; 5 GB are 44,247 of 100,000 items.
TEST_F(StallsCommand, AsksWhatAnotherCacheWouldGain) {
  ASSERT_EQ(ask({"data.storage.read=11.3 MB/s", "data.shuffled=false"}), ExitCode::Done) << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["base"]["cached_share"], 0);
  EXPECT_NEAR(json["base"]["samples_per_s"].get<double>(), 100, 0.01);
  const auto minio =
      std::ranges::find_if(json["what_ifs"], [](const auto& one) { return one["name"] == "cache minio"; });
  ASSERT_NE(minio, json["what_ifs"].end());
  EXPECT_NEAR((*minio)["cached_share"].get<double>(), 0.44247, 0.0005);
  EXPECT_GT((*minio)["samples_per_s"].get<double>(), 150);
}

TEST_F(StallsCommand, SaysWhatIsWrongAllAtOnce) {
  EXPECT_EQ(ask({"data.cache_memory=100 TB", "data.coordinated=true", "data.partitioned=true"}), ExitCode::InputError);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, HasSubstr("100 TB is more than the server has: machine.host.memory is"));
  EXPECT_THAT(err_, HasSubstr("one job has nobody to share prepared data with"));
  EXPECT_THAT(err_, HasSubstr("one server has nobody to share its memory with"));
}

// A card of 6.2 GB/s behind eight lanes of PCIe 3.0.
const std::vector<std::string> kOnCard = {"machine=flashneuron_v100_16gb", "data.storage.node=ssd0",
                                          "data.shuffled=false", "data.cores=4096"};

TEST_F(StallsCommand, ReadsFromTheMachinesOwnStorage) {
  ASSERT_EQ(ask(kOnCard), ExitCode::Done) << err_;
  EXPECT_NEAR(nlohmann::json::parse(out_)["fetched_samples_per_s"].get<double>(), 6.2e9 / 113'000, 1);
}

TEST_F(StallsCommand, ReadsNoFasterThanTheConfigurationSays) {
  std::vector<std::string> slower = kOnCard;
  slower.emplace_back("data.storage.read=1.13 MB/s");
  ASSERT_EQ(ask(slower), ExitCode::Done) << err_;
  EXPECT_NEAR(nlohmann::json::parse(out_)["fetched_samples_per_s"].get<double>(), 10, 1e-6);
}

TEST_F(StallsCommand, NamesTheStorageThatThereIs) {
  EXPECT_EQ(ask({"machine=flashneuron_v100_16gb", "data.storage.node=sdd0"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("the machine has no storage named \"sdd0\"; expected ssd0, ssd1"));
  EXPECT_EQ(ask({"data.storage.node=ssd0"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("its memories are all host memory"));
}

TEST_F(StallsCommand, RefusesAnEpochWithoutAnIteration) {
  EXPECT_EQ(ask({"data.items=100"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("100 items are no iteration: one takes 128"));
}

TEST_F(StallsCommand, NamesTheNearestCache) {
  EXPECT_EQ(ask({"data.cache=minoi"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("minio"));
}

}  // namespace
}  // namespace uvmsim
