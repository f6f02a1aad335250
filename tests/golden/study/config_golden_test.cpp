// What the bundled configurations resolve to, and the published schema.
#include <gtest/gtest.h>

#include "study/config_text.h"
#include "study/experiment.h"
#include "support/golden_file.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

const std::string kConfigs = UVMSIM_SOURCE_DIR "/configs";

// Reads as if from the root of the source tree, so that origins do not name this machine's folders.
std::optional<std::string> from_source_tree(const std::string& path) {
  return test::read_file(std::string(UVMSIM_SOURCE_DIR "/") + path);
}

std::vector<std::string> bundled() {
  std::vector<std::string> names;
  for (const std::string& file : test::json_files(kConfigs)) {
    const std::string name = std::filesystem::path(file).stem().string();
    if (name != "schema") names.push_back(name);
  }
  return names;
}

class BundledConfig : public testing::TestWithParam<std::string> {};

TEST_P(BundledConfig, ResolvesAsCommitted) {
  const Experiment e = read_experiment("configs/" + GetParam() + ".json", {}, from_source_tree);
  const std::string text = resolved_text(e.resolved);
  EXPECT_EQ(text, test::golden_file(UVMSIM_SOURCE_DIR "/tests/golden/study/" + GetParam() + ".txt", text));
}

// What was resolved is a configuration that resolves to itself.
TEST_P(BundledConfig, ResolvedReadsBackAsItself) {
  const Experiment first = read_experiment("configs/" + GetParam() + ".json", {}, from_source_tree);
  const std::string json = to_json(first.resolved, true);
  const Experiment second =
      read_experiment("resolved.json", {}, [&](const std::string&) { return std::optional(json); });
  EXPECT_EQ(to_json(second.resolved, false), to_json(first.resolved, false));
}

std::string name_of(const testing::TestParamInfo<std::string>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Committed, BundledConfig, testing::ValuesIn(bundled()), name_of);

// After a change of a description: `uvmsim config schema > configs/schema.json`.
TEST(Schema, IsTheOneOfTheReader) {
  EXPECT_EQ(config_schema(), test::golden_file(kConfigs + "/schema.json", config_schema()));
}

}  // namespace
}  // namespace uvmsim
