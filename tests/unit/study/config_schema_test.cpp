// The schema accepts what the reader accepts, and refuses much of what it refuses.
#include <gmock/gmock.h>

#include "study/config_text.h"
#include "support/read_file.h"
#include "support/schema_checker.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;

const std::string kConfigs = UVMSIM_SOURCE_DIR "/configs";

Json file(const std::string& path) { return Json::parse(*test::read_file(path), nullptr, true, true); }

const test::SchemaChecker& schema() {
  static const test::SchemaChecker checker(Json::parse(config_schema()));
  return checker;
}

TEST(Schema, AcceptsEveryBundledExperiment) {
  int checked = 0;
  for (const std::string& path : test::json_files(kConfigs)) {
    if (path.ends_with("/schema.json")) continue;
    EXPECT_THAT(schema().faults(file(path)), IsEmpty()) << path;
    ++checked;
  }
  EXPECT_GE(checked, 2);
}

TEST(Schema, AcceptsEveryMachineFileAndItsParts) {
  const std::pair<std::string, std::string> folders[] = {{"", ""},
                                                         {"/gpus", "/properties/gpu"},
                                                         {"/costs", "/properties/gpu/properties/driver_costs"},
                                                         {"/links", "/properties/links/items"}};
  for (const auto& [folder, part] : folders)
    for (const std::string& path : test::json_files(kConfigs + "/machines" + folder))
      EXPECT_THAT(schema().faults(file(path), "/properties/machine" + part), IsEmpty()) << path;
}

TEST(Schema, RefusesWhatTheReaderRefuses) {
  EXPECT_THAT(schema().faults(Json::parse(R"({"driver": {"uvm_perf_prefetch_threshold": 510, "treshold": 1}})")),
              ElementsAre("/driver/treshold: unknown", "/driver/uvm_perf_prefetch_threshold: anyOf"));
  EXPECT_THAT(schema().faults(Json::parse(R"({"machine": {"gpu": {"memory": 32, "usable_memory": "3 furlongs"}}})")),
              ElementsAre("/machine/gpu/memory: anyOf", "/machine/gpu/usable_memory: anyOf"));
  EXPECT_THAT(schema().faults(Json::parse(R"({"machine": {"gpus": {"value": 8, "status": "guessed"}}})")),
              ElementsAre("/machine/gpus: anyOf"));
}

}  // namespace
}  // namespace uvmsim
