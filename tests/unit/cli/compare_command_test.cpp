#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/policy_files.h"
#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::Not;

// Three arrays of 16 MiB on a GPU with room for 32.
class CompareCommand : public testing::Test {
 protected:
  ExitCode run(std::vector<std::string> options) {
    options.insert(options.begin(),
                   {"compare", "vector_add_v100", "--quiet", "--set", "machine.gpu.usable_memory=32 MiB"});
    for (const char* setting : {"workload.elements=4194304", "workload.mode=grid", "workload.read_back=false",
                                "run.warmup=1", "run.iterations=2"})
      options.insert(options.end(), {"--set", setting});
    std::ostringstream out, err;
    const ExitCode exit = run_program(options, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

TEST_F(CompareCommand, PutsPoliciesAfterTheReferencesInTheOrderGiven) {
  ASSERT_EQ(run({"--json", "--policies", "default,threshold_5,operand_prefetch"}), ExitCode::Done) << err_;
  const nlohmann::json json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["in_core"]["policy"], "in_core");
  EXPECT_EQ(json["cuda_malloc"]["slowdown"], 1.0);
  EXPECT_NEAR(json["in_core"]["slowdown"].get<double>(), 1.0, 1e-9);  // nothing moves after the warm-up
  ASSERT_EQ(json["policies"].size(), 3u);
  EXPECT_EQ(json["policies"][0]["speedup"], 1.0);
  EXPECT_EQ(json["policies"][1]["policy"], "threshold_5");
  // Two batches a block instead of six.
  EXPECT_LT(json["policies"][1]["fault_batches"], json["policies"][0]["fault_batches"]);
  EXPECT_LT(json["policies"][2]["fault_batches"], json["policies"][0]["fault_batches"]);
  for (const auto& policy : json["policies"]) EXPECT_GT(policy["slowdown"], 1.0) << policy["policy"];
}

TEST_F(CompareCommand, TheSameInputGivesTheSameTable) {
  ASSERT_EQ(run({"--policies", "default,threshold_5", "-j", "1"}), ExitCode::Done) << err_;
  const std::string first = out_;
  EXPECT_THAT(first, HasSubstr("module parameter uvm_perf_prefetch_threshold=5"));
  ASSERT_EQ(run({"--policies", "default,threshold_5", "-j", "2"}), ExitCode::Done);
  EXPECT_EQ(out_, first);
}

// A small network on a GPU with three quarters of what it takes.
TEST(ComparePlanners, PutsThemBesideUnifiedMemoryTheFastestFirst) {
  std::ostringstream out, err;
  const std::vector<std::string> options = {"compare",
                                            "swap_resnet50_v100",
                                            "--quiet",
                                            "--set",
                                            "workload.generator=alexnet",
                                            "--set",
                                            "workload.batch=512",
                                            "--set",
                                            "machine.gpu.usable_memory=3 GB",
                                            "--planners",
                                            "lms_like,tmo_like_online"};
  ASSERT_EQ(run_program(options, out, err), ExitCode::Done) << err.str();
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("Fastest: "));
  for (const char* name : {"default", "lms_like ", "lms_like, managed", "tmo_like_online ", "tmo_like_online, managed"})
    EXPECT_THAT(text, HasSubstr(name));
  // Demand paging is not the fastest: its row comes after the planner's on explicit memory.
  EXPECT_LT(text.find("  tmo_like_online "), text.find("  default "));
}

// The same network by its memory: with half of what an iteration holds and with all of it, where nothing moves.
TEST(ComparePlanners, DrawsTimeAgainstMemory) {
  std::ostringstream out, err;
  const std::vector<std::string> options = {
      "compare", "swap_resnet50_v100", "--quiet",    "--json",          "--set",    "workload.generator=alexnet",
      "--set",   "workload.batch=512", "--planners", "tmo_like_online", "--memory", "1,0.5,2GB"};
  ASSERT_EQ(run_program(options, out, err), ExitCode::Done) << err.str();
  const nlohmann::json json = nlohmann::json::parse(out.str());
  const nlohmann::json& planner = json["policies"][1];
  EXPECT_EQ(planner["policy"], "tmo_like_online");
  EXPECT_LT(planner["need_bytes"], planner["unplanned_bytes"]);
  const nlohmann::json& points = planner["points"];
  ASSERT_EQ(points.size(), 3u);
  EXPECT_LT(points[0]["memory_bytes"], points[1]["memory_bytes"]);
  EXPECT_LT(points[1]["memory_bytes"], points[2]["memory_bytes"]);
  EXPECT_GT(points[0]["duration_s"], points[2]["duration_s"]);
  // Demand paging has no plan, and a curve all the same.
  EXPECT_FALSE(json["policies"][0].contains("need_bytes"));
  EXPECT_EQ(json["policies"][0]["points"].size(), 3u);
}

TEST(ComparePlanners, RefusesWhatIsNoMemoryAllAtOnce) {
  std::ostringstream out, err;
  EXPECT_EQ(
      run_program({"compare", "swap_resnet50_v100", "--planners", "vdnn", "--memory", "60,8Gb,half,0.5,0.5"}, out, err),
      ExitCode::InputError);
  EXPECT_THAT(err.str(), HasSubstr("\"60\" is no memory"));
  EXPECT_THAT(err.str(), HasSubstr("did you mean \"0.6\"?"));
  EXPECT_THAT(err.str(), HasSubstr("did you mean \"8GB\"?"));
  EXPECT_THAT(err.str(), HasSubstr("\"half\" is no memory"));
  EXPECT_THAT(err.str(), HasSubstr("\"0.5\" is named twice"));
  EXPECT_EQ(out.str(), "");
}

TEST(ComparePlanners, RefusesUnknownOnesAllAtOnce) {
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"compare", "swap_resnet50_v100", "--planners", "lms,vdnn,vdnn,zzz,vdnn+priorty"}, out, err),
            ExitCode::InputError);
  EXPECT_THAT(err.str(), HasSubstr("lms"));
  EXPECT_THAT(err.str(), HasSubstr("\"vdnn\" is named twice"));
  EXPECT_THAT(err.str(), HasSubstr("zzz"));
  EXPECT_THAT(err.str(), HasSubstr("did you mean \"priority\"?"));
}

// Two GPUs on one uplink: a row of explicit memory with turns, and none of managed memory with turns.
TEST(ComparePlanners, PutsCoordinatorsBesidePlanners) {
  std::ostringstream out, err;
  const std::vector<std::string> options = {"compare",
                                            "swap_resnet50_x8",
                                            "--quiet",
                                            "--set",
                                            "machine.gpus=2",
                                            "--set",
                                            "workload.generator=alexnet",
                                            "--set",
                                            "workload.batch=512",
                                            "--set",
                                            "machine.gpu.usable_memory=3 GB",
                                            "--planners",
                                            "tmo_like_online,tmo_like_online+bidirectional_overlapping"};
  ASSERT_EQ(run_program(options, out, err), ExitCode::Done) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("tmo_like_online+bidirectional_overlapping"));
  EXPECT_THAT(out.str(), Not(HasSubstr("tmo_like_online+bidirectional_overlapping, managed")));
}

TEST_F(CompareCommand, RefusesUnknownPoliciesAllAtOnceWithTheNearest) {
  EXPECT_EQ(run({"--policies", "threshold5,default,default,zzz"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("no policy is named \"threshold5\"; did you mean \"threshold_5\"?"));
  EXPECT_THAT(err_, HasSubstr("\"default\" is named twice"));
  EXPECT_THAT(err_, HasSubstr("no policy is named \"zzz\"; expected a file that ends in .json"));
  EXPECT_EQ(out_, "");
}

// A word language model that asks for 207 MB on a GPU with 160 MB, under every policy.
TEST(PolicyFiles, EveryBundledOneCompletesAnOversubscribedTraining) {
  std::string names = "default";
  for (const PolicyFile& policy : bundled_policies())
    if (policy.name != "default") names += "," + policy.name;
  std::vector<std::string> arguments = {"compare", "lm_v100", "--json", "--quiet", "--policies", names};
  for (const char* setting :
       {"machine.gpu.usable_memory=160 MB", "workload.batch=1", "workload.bptt=35", "run.warmup=1", "run.iterations=1"})
    arguments.insert(arguments.end(), {"--set", setting});
  std::ostringstream out, err;
  ASSERT_EQ(run_program(arguments, out, err), ExitCode::Done) << err.str();
  const nlohmann::json json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["policies"].size(), bundled_policies().size());
  for (const auto& policy : json["policies"]) {
    EXPECT_TRUE(policy["completed"]) << policy["policy"] << policy.value("error", "");
    EXPECT_GT(policy.value("slowdown", 0.0), 1.0) << policy["policy"];
  }
}

TEST_F(CompareCommand, TellsWhatWasSetAndWhatWentOverTheLink) {
  ASSERT_EQ(run({"--policies", "default,access_counters"}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("  changed   machine.gpu.usable_memory=32 MiB "));
  EXPECT_THAT(out_, HasSubstr("remote"));
  EXPECT_THAT(out_, HasSubstr("hypothetical on x86"));
  ASSERT_EQ(run({"--policies", "default"}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, testing::Not(HasSubstr("remote")));
}

TEST_F(CompareCommand, SaysWhenPoliciesHaveNothingToDo) {
  ASSERT_EQ(run({"--policies", "default", "--set", "machine.gpu.usable_memory=1 GiB"}), ExitCode::Done) << err_;
  EXPECT_THAT(out_, HasSubstr("Everything fits into GPU memory"));
  ASSERT_EQ(
      run({"--policies", "default", "--set", "workload.memory=device", "--set", "machine.gpu.usable_memory=1 GiB"}),
      ExitCode::Done)
      << err_;
  EXPECT_THAT(out_, HasSubstr("policies of prefetch and eviction change nothing"));
}

TEST(PolicyFiles, AllBundledOnesAreReadAndTheDefaultOnesExist) {
  EXPECT_GT(bundled_policies().size(), default_policies().size());
  EXPECT_EQ(find_policies(default_policies()).size(), default_policies().size());
  for (const PolicyFile& policy : bundled_policies()) EXPECT_FALSE(policy.on_hardware.empty()) << policy.name;
}

TEST(PolicyFiles, AFileIsAPolicy) {
  const std::string file = testing::TempDir() + "mine.json";
  std::ofstream(file)
      << R"({"description": "d", "on_hardware": "h", "set": {"driver.uvm_perf_prefetch_threshold": 7}})";
  const std::vector<PolicyFile> policies = find_policies({"default", file});
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_EQ(policies[1].name, "mine");
  EXPECT_THAT(policies[1].settings, testing::ElementsAre("driver.uvm_perf_prefetch_threshold=7"));
}

TEST(PolicyFiles, APolicyMayNotChangeWhatRuns) {
  std::vector<InputError> errors;
  read_policy("mine", R"({"description": "d", "on_hardware": "h", "set": {"workload.batch": 2, "driver.x": []}})", "f",
              errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(errors[0].place, HasSubstr("/set/workload.batch"));
  EXPECT_THAT(errors[1].message, HasSubstr("expected a text, a number"));
}

}  // namespace
}  // namespace uvmsim
