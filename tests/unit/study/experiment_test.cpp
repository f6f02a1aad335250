#include "study/experiment.h"

#include <gmock/gmock.h>
#include <map>

#include "study/config_keys.h"
#include "study/workload_section.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kMainJob = UVMSIM_SOURCE_DIR "/configs/v100_dgx1.json";

// A machine with one GPU, so that a test writes only what it varies.
constexpr const char* kMachine = R"("machine": {"extends": "titan_v.json"})";

Experiment read(const std::string& sections, const std::vector<std::string>& settings = {}) {
  const std::string text = "{" + std::string(kMachine) + (sections.empty() ? "" : ",\n") + sections + "}";
  return read_experiment("x.json", settings, [&](const std::string& path) {
    return path == "x.json" ? std::optional(text) : test::read_file(UVMSIM_SOURCE_DIR "/configs/machines/" + path);
  });
}

std::string error_of(const std::string& sections, const std::vector<std::string>& settings = {}) {
  try {
    read(sections, settings);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(MainJob, IsResNet1001OnADgx1) {
  const Experiment e = read_experiment(kMainJob);
  EXPECT_EQ(e.name, "v100_dgx1");
  EXPECT_EQ(e.machine.gpus.size(), 8u);
  EXPECT_EQ(e.machine.driver.version, "418.40");
  EXPECT_TRUE(driver_traits(e.machine.driver.version).assumed);
  EXPECT_EQ(e.workload.generator, "resnet1001");
  EXPECT_EQ(e.workload.placement.allocator, "torch_1_0");
  EXPECT_TRUE(e.workload.placement.prefetch_on_alloc);
  EXPECT_TRUE(e.workload.data_parallel);
  EXPECT_EQ(e.workload.in_core.samples_per_second, 44.3);
}

TEST(MainJob, TakesTheSettingsOfTheManual) {
  const Experiment e = read_experiment(kMainJob, {"machine.gpus=1", "workload.batch=48",
                                                  "driver.uvm_perf_prefetch_threshold=5", "driver.version=535.10"});
  EXPECT_EQ(e.machine.gpus.size(), 1u);
  EXPECT_EQ(e.machine.driver.uvm_perf_prefetch_threshold, 5);
  EXPECT_EQ(e.machine.driver.version, "535.10");
  const FieldInfo* batch = e.workload.parameters->parameters().description->find("batch");
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(*static_cast<std::int64_t*>(batch->locate(e.workload.parameters->parameters().object)), 48);
}

TEST(Experiment, ReportsTheFaultsOfAllSectionsAtOnce) {
  EXPECT_EQ(
      error_of(
          "\"machne\": 1,\n"
          "\"driver\": {\"uvm_perf_prefetch_treshold\": 51, \"prefetch_policy\": \"densest\", \"version\": \"new\"},\n"
          "\"workload\": {\"generator\": \"vector_add\", \"elments\": 3, \"memory\": \"unified\"},\n"
          "\"run\": {\"iterations\": 0}"),
      "x.json: 7 errors\n"
      "  /machne (x.json:2): unknown key; did you mean \"machine\"?\n"
      "  /driver/uvm_perf_prefetch_treshold (x.json:3): unknown key; did you mean \"uvm_perf_prefetch_threshold\"?\n"
      "  /driver/prefetch_policy (x.json:3): no prefetch policy is named \"densest\"; see `uvmsim list prefetch`\n"
      "  /driver/version (x.json:3): expected a version such as \"595.45.04\", got \"new\"\n"
      "  /workload/elments (x.json:4): unknown key; did you mean \"elements\"?\n"
      "  /workload/memory (x.json:4): expected one of managed, device, system, got \"unified\"\n"
      "  /run/iterations (x.json:5): 0 is outside 1..1000000 iterations");
}

TEST(Experiment, BringsWhatIsManagedBackFromTheHostOnce) {
  EXPECT_EQ(error_of("\"workload\": {\"generator\": \"vector_add\", \"memory\": \"device\"},\n"
                     "\"run\": {\"warmup\": 0, \"iterations\": 2, \"from_host\": true}"),
            "x.json: 3 errors\n"
            "  /run/iterations: expected 1 where run.from_host is true\n"
            "  /run/warmup: expected 1 or more where run.from_host is true\n"
            "  /run/from_host: expected false, or \"managed\" as workload.memory");
}

TEST(Experiment, NeedsAMachine) {
  try {
    read_experiment("x.json", {}, [](const std::string&) { return std::optional<std::string>("{}"); });
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/machine: missing; expected an object such as"));
  }
}

TEST(Workload, IsAGeneratorOrATrace) {
  EXPECT_THAT(error_of(""), HasSubstr("/workload: expected a generator or a trace"));
  EXPECT_THAT(error_of(R"("workload": {"generator": "vector_add", "trace": "a"})"),
              HasSubstr("/workload/generator (x.json:2): expected a generator or a trace, not both"));
}

TEST(Workload, AnUnknownGeneratorIsTheOnlyFaultOfItsSection) {
  EXPECT_EQ(error_of(R"("workload": {"generator": "vektor_add", "elements": 3})"),
            "x.json: 1 error\n  /workload/generator (x.json:2): no generator is named \"vektor_add\"; did you mean "
            "\"vector_add\"?");
}

TEST(Workload, ATraceIsRelativeToTheFileThatNamesIt) {
  const auto load = [](const std::string& path) -> std::optional<std::string> {
    if (path == "a/x.json")
      return "{\"machine\": {\"extends\": \"titan_v.json\"}, \"workload\": {\"trace\": \"../t/w.uvmtrace\"}}";
    return test::read_file(UVMSIM_SOURCE_DIR "/configs/machines/" + path.substr(2));
  };
  EXPECT_EQ(read_experiment("a/x.json", {}, load).workload.trace, "t/w.uvmtrace");
  EXPECT_EQ(read_experiment("a/x.json", {"workload.trace=w.uvmtrace"}, load).workload.trace, "w.uvmtrace");
}

TEST(Workload, ContradictionsOfTheGeneratorAreFaults) {
  EXPECT_THAT(error_of(R"("workload": {"generator": "vector_add", "mode": "thread", "block": 32})"),
              HasSubstr("/workload (x.json:2): mode \"thread\" is one thread, but block is set"));
}

TEST(InCore, IsARateOrATime) {
  EXPECT_EQ(parse_in_core("44.3 samples/s")->samples_per_second, 44.3);
  EXPECT_EQ(parse_in_core("3 tokens/s")->samples_per_second, 3);
  EXPECT_EQ(parse_in_core("2.21 s")->iteration, from_seconds(2.21));
  for (const char* text : {"", "44.3", "samples/s", "0 samples/s", "-1 samples/s", "0 s", "44.3 /s", "44.3 samples"})
    EXPECT_FALSE(parse_in_core(text)) << text;
  EXPECT_THAT(
      error_of(R"("workload": {"generator": "vector_add", "calibrate": {"in_core": "fast"}})"),
      HasSubstr("/workload/calibrate/in_core (x.json:2): expected a rate such as \"44.3 samples/s\" or a time such "
                "as \"2.21 s\", got \"fast\""));
}

TEST(Setting, OfAnUnknownKeyIsAFault) {
  EXPECT_THAT(error_of(R"("workload": {"generator": "vector_add"})", {"machine.gpu.sm=3"}),
              HasSubstr("/machine/gpu/sm (--set): unknown key; did you mean \"sms\"?"));
}

TEST(Setting, ThatLacksItsSectionIsToldWhereItBelongs) {
  const auto fault_of = [](const std::string& setting) {
    return error_of(R"("workload": {"generator": "resnet50"})", {setting});
  };
  EXPECT_THAT(fault_of("gpus=2"), HasSubstr("/gpus (--set): unknown key; did you mean \"machine.gpus\"?"));
  EXPECT_THAT(fault_of("num_gpus=2"), HasSubstr("did you mean \"machine.gpus\"?"));
  EXPECT_THAT(fault_of("batch=2"), HasSubstr("did you mean \"workload.batch\"?"));
  EXPECT_THAT(fault_of("iteration=2"), HasSubstr("did you mean \"run.iterations\"?"));
  EXPECT_EQ(fault_of("foo=2").find("did you mean"), std::string::npos);  // "from" is near
}

// Common keys and parameters share one object, so no generator may use a common key's name.
TEST(ConfigKeys, ParametersDoNotCollideWithCommonKeys) {
  std::map<std::string, int> common;
  for (const ConfigKey& key : config_keys())
    if (key.plug_in.empty()) ++common[key.key];
  for (const auto& [key, count] : common) EXPECT_EQ(count, 1) << key;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_FALSE(!key.plug_in.empty() && common.contains(key.key)) << key.key << " of " << key.plug_in;
  }
}

TEST(ConfigKeys, EveryOneIsDocumented) {
  for (const ConfigKey& key : config_keys()) EXPECT_NE(key.field.doc, "") << key.key;
}

TEST(ParseConfigBytes, AnyBytesAreRefusedInOrder) {
  for (const char* text :
       {"", "{}", "{\"machine\": {}}", "\xff", "[[[[", "{\"extends\": \"config.json\"}",
        "{\"extends\": \"/etc/passwd\"}",
        "{\"workload\": 3, \"driver\": [], \"run\": null, \"machine\": {\"links\": [{\"from\": \"gpu99999999999\"}]}}"})
    EXPECT_NO_THROW(parse_config_bytes(text)) << text;
}

}  // namespace
}  // namespace uvmsim
