// What commands take in place of a configuration file, and machines by name.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/config_files.h"
#include "cli/program.h"
#include "workload/generator.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

struct Outcome {
  ExitCode exit;
  std::string out, err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const ExitCode exit = run_program(arguments, out, err);
  return {exit, out.str(), err.str()};
}

std::string write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ByName, AGeneratorIsAConfiguration) {
  const Experiment e = read_config({.config = "bert_large", .machine = "a100_40gb", .settings = {"workload.batch=64"}});
  EXPECT_EQ(e.name, "bert_large");
  EXPECT_EQ(e.workload.generator, "bert_large");
  EXPECT_EQ(e.machine.name, "A100-40GB");
  EXPECT_EQ(e.file, "");
  EXPECT_EQ(e.overrides, (std::vector<std::string>{"machine=a100_40gb", "workload.batch=64"}));
}

// What is not named, as the machine's own name, stays.
TEST(ByName, AMachineTakesAnotherGpuAndHost) {
  const Experiment e = read_config(
      {.config = "resnet50", .machine = "titan_v", .settings = {"machine.gpu=l40s", "machine.host=xeon_pcie5"}});
  EXPECT_EQ(e.machine.name, "TITAN V");
  EXPECT_EQ(e.machine.gpus[GpuIndex{0}].name, "L40S");
  const Experiment host = read_config({.config = "resnet50", .settings = {"machine.host=xeon_pcie5"}});
  EXPECT_EQ(e.machine.host.name, host.machine.host.name);
  EXPECT_THAT(run({"fit", "resnet50", "--set", "machine.gpu=rtx40"}).err,
              HasSubstr("--set machine.gpu: no file and no bundled machine.gpu is named \"rtx40\"; which of rtx4080, "
                        "rtx4090?"));
}

TEST(ByName, EveryGeneratorIsOneWithItsDefaults) {
  for (const std::string& name : generators().names()) {
    const Experiment e = read_config({.config = name});
    EXPECT_EQ(e.workload.generator, name);
    EXPECT_EQ(e.machine.name, "V100-SXM2-32GB") << name;
  }
}

// One GPU of the machine works on a batch of 16, and the result says that seven have nothing to do.
TEST(ByName, AProgramForOneGpuIsNotCountedForEight) {
  const std::string out = run({"run", "alexnet", "--machine", "dgx1_v100_32gb", "--set", "machine.gpus=8", "--set",
                               "workload.batch=16", "--json"})
                              .out;
  const nlohmann::json summary = nlohmann::json::parse(out).at("summary");
  EXPECT_NEAR(summary.at("throughput").at("value").get<double>() * summary.at("duration_s").get<double>(), 16, 1e-6);
  EXPECT_THAT(out, HasSubstr("7 of 8 GPUs have nothing to do"));
}

// Micro-benchmarks call the driver; ResNet-1001's semantics are those of PyTorch 1.0, ResNet-50's of 2.
TEST(ByName, TheAllocatorIsOfTheFrameworksTime) {
  EXPECT_EQ(read_config({.config = "vector_add"}).workload.placement.allocator, "none");
  EXPECT_EQ(read_config({.config = "resnet1001"}).workload.placement.allocator, "torch_1_0");
  EXPECT_EQ(read_config({.config = "resnet50"}).workload.placement.allocator, "torch_2");
}

TEST(ByName, ATraceIsAConfiguration) {
  const Experiment e = read_config({.config = std::string(UVMSIM_SOURCE_DIR) + "/traces/stencil2d.uvmtrace"});
  EXPECT_THAT(e.workload.trace, HasSubstr("traces/stencil2d.uvmtrace"));
  EXPECT_EQ(e.machine.name, "V100-SXM2-32GB");
  EXPECT_EQ(e.description, "");
}

TEST(ByName, AMachineTakesThePlaceOfTheConfigurations) {
  EXPECT_EQ(read_config({.config = "v100_dgx1", .machine = "a100_40gb"}).machine.gpus.size(), 1u);
  EXPECT_EQ(read_config({.config = "v100_dgx1", .settings = {"machine=rtx3080"}}).machine.name, "RTX 3080");
  // Later ones win.
  const std::vector<std::string> both = {"machine=rtx3080", "machine.gpu.usable_memory=1 GB"};
  const Machine machine = read_config({.config = "v100_dgx1", .machine = "a100_40gb", .settings = both}).machine;
  EXPECT_EQ(machine.name, "RTX 3080");
  EXPECT_EQ(machine.gpus.front().usable_memory.value, 1'000'000'000);
}

TEST(ByName, ASettingMayNameAPolicy) {
  EXPECT_EQ(read_config({.config = "resnet50", .settings = {"policy=threshold_5"}})
                .machine.driver.uvm_perf_prefetch_threshold,
            5);
}

TEST(ByName, AMachineFileAnywhereExtendsBundledFiles) {
  const std::string file = write("my_machine.json", R"({"extends": "rtx3080.json", "name": "mine",
                                                        "gpu": {"usable_memory": "8 GB"}})");
  const Experiment e = read_config({.config = "resnet50", .machine = file});
  EXPECT_EQ(e.machine.name, "mine");
  EXPECT_EQ(e.machine.gpus.front().usable_memory.value, 8'000'000'000);
}

// The 44.3 samples/s were measured on a V100. Of a trace --machine is what recorded it.
TEST(ByName, MeasuredDurationsAreScaledToAnotherGpu) {
  const Experiment e = read_config({.config = "v100_dgx1", .machine = "a100_40gb"});
  ASSERT_TRUE(e.workload.measured_on);
  EXPECT_EQ(e.workload.measured_on->name, "Tesla V100-SXM2-32GB");
  EXPECT_THAT(e.description, HasSubstr("those of Tesla V100-SXM2-32GB, scaled to A100-SXM4-40GB"));
  EXPECT_FALSE(read_config({.config = "v100_dgx1"}).workload.measured_on);
  EXPECT_FALSE(read_config({.config = "resnet50", .machine = "a100_40gb"}).workload.measured_on);
  const std::string trace = std::string(UVMSIM_SOURCE_DIR) + "/traces/stencil2d.uvmtrace";
  EXPECT_FALSE(read_config({.config = trace, .machine = "a100_40gb"}).workload.measured_on);
  EXPECT_TRUE(read_config({.config = trace, .machine = "a100_40gb", .settings = {"machine=t4"}}).workload.measured_on);
}

TEST(ByName, AScaledRunIsNotKeptAsIfItCouldBeRepeated) {
  const std::string folder = testing::TempDir() + "scaled";
  const Outcome o = run({"run", "v100_dgx1", "--machine", "a100_40gb", "-o", folder});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(o.err, HasSubstr("a kept configuration could not repeat this run"));
  EXPECT_FALSE(fs::exists(folder));
}

// "ResNet-1001 fp32, batch 98 per GPU, on a DGX-1" is not what runs with another batch.
TEST(ByName, ADescriptionThatNoLongerHoldsIsLeftOut) {
  EXPECT_THAT(read_config({.config = "v100_dgx1"}).description, HasSubstr("batch 98"));
  EXPECT_EQ(read_config({.config = "v100_dgx1", .settings = {"workload.batch=60"}}).description, "");
  EXPECT_EQ(read_config({.config = "v100_dgx1", .settings = {"workload.batch=60", "description=mine"}}).description,
            "mine");
}

TEST(ByName, SuggestsConfigurationsAndGenerators) {
  for (const auto& [name, meant] : {std::pair("bert_lage", "bert_large"), {"v100_dgx", "v100_dgx1"}}) {
    const Outcome o = run({"fit", name});
    EXPECT_EQ(o.exit, ExitCode::InputError);
    EXPECT_THAT(o.err,
                HasSubstr("no such file, configuration or generator; did you mean \"" + std::string(meant) + "\"?"));
    EXPECT_EQ(o.out, "");
  }
  EXPECT_THAT(run({"fit", "generator.bert_lage"}).err,
              HasSubstr("no generator of that name; did you mean \"bert_large\"?"));
  EXPECT_THAT(
      run({"fit", "resnet50", "--machine", "a100_40g"}).err,
      HasSubstr("--machine: no file and no bundled machine is named \"a100_40g\"; did you mean \"a100_40gb\"?"));
  EXPECT_THAT(run({"fit", "resnet50", "--set", "machine=a100_40g"}).err,
              HasSubstr("--set machine: no file and no bundled machine is named \"a100_40g\""));
}

TEST(ByName, ANameOfTwoThingsIsRefused) {
  const fs::path before = fs::current_path();
  write("vgg16", "{}");
  fs::current_path(testing::TempDir());
  const Outcome o = run({"fit", "vgg16"});
  const Outcome prefixed = run({"config", "show", "generator.vgg16"});
  fs::remove("vgg16");
  fs::current_path(before);
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(o.err, HasSubstr("vgg16: is a generator and a file; write generator.vgg16 or ./vgg16"));
  EXPECT_EQ(prefixed.exit, ExitCode::Done) << prefixed.err;
}

TEST(ByName, AFolderIsNoConfiguration) {
  EXPECT_THAT(run({"fit", testing::TempDir()}).err, HasSubstr("is a folder; expected a file in it"));
}

TEST(ByName, ARecordingOfAnotherProgramIsToBeImportedFirst) {
  const std::string file = write("profile.json", R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7}}]})");
  const Outcome o = run({"run", file});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(o.err,
              HasSubstr("is a recording of another program (kineto); make a trace of it first: uvmsim trace import"));
}

TEST(ResultHead, SaysWhatRan) {
  const std::vector<std::string> arguments = {
      "run", "vector_add", "--machine", "t4", "--quiet", "--set", "workload.elements=65536"};
  const Outcome text = run(arguments);
  ASSERT_EQ(text.exit, ExitCode::Done) << text.err;
  EXPECT_THAT(text.out, HasSubstr("  machine   T4: 1 x Tesla T4, "));
  EXPECT_THAT(text.out, HasSubstr("  workload  vector_add: cpu_init=true "));
  EXPECT_THAT(text.out, HasSubstr("  changed   machine=t4 workload.elements=65536\n"));
}

}  // namespace
}  // namespace uvmsim
