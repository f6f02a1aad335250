// What the bundled configurations resolve to, and the published schema.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/registry.h"
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

using Json = nlohmann::json;

// Whether `key` is a parameter of a plug-in, or the name of one that has a section of its own.
bool is_of_a_plug_in(const std::string& key) {
  for (const PlugInKind* kind : kinds())
    for (const std::string& name : kind->names())
      if (name == key || kind->make_plug_in(name)->parameters().description->find(key) != nullptr) return true;
  return false;
}

// The places where the reader's schema has not what the published one says, or has more than plug-ins.
void compare(const Json& published, const Json& reader, const std::string& at, std::vector<std::string>& differ) {
  if (published == reader) return;
  if (published.is_object() && reader.is_object() && published.contains("anyOf") == reader.contains("anyOf")) {
    for (const auto& [key, value] : published.items())
      if (reader.contains(key))
        compare(value, reader[key], at + "/" + key, differ);
      else
        differ.push_back(at + "/" + key + ": not the reader's");
    for (const auto& [key, value] : reader.items())
      if (!published.contains(key) && !is_of_a_plug_in(key)) differ.push_back(at + "/" + key + ": not published");
  } else if (published.is_array() && reader.is_array() && (at.ends_with("/enum") || at.ends_with("/anyOf"))) {
    for (const Json& value : published) {
      const bool found = std::ranges::any_of(reader, [&](const Json& other) {
        std::vector<std::string> inside;
        compare(value, other, at + "/", inside);
        return inside.empty();
      });
      if (!found) differ.push_back(at + ": not the reader's");
    }
    for (const Json& value : reader)
      if (value.is_string() && std::ranges::find(published, value) == published.end() && !is_of_a_plug_in(value))
        differ.push_back(at + ": not published");
  } else {
    differ.push_back(at);
  }
}

// After a change of a description: `uvmsim config schema > configs/schema.json`. A plug-in more is no change: it is one
// file, and editors learn of it when the schema is published again.
TEST(Schema, PublishedIsTheReadersBesidesPlugIns) {
  std::vector<std::string> differ;
  compare(Json::parse(test::golden_file(kConfigs + "/schema.json", config_schema())), Json::parse(config_schema()), "",
          differ);
  EXPECT_THAT(differ, testing::IsEmpty());
}

// Taken out of what is published: a plug-in's parameter and a name are no difference, a key of the driver is one.
TEST(Schema, ComparisonSeesMoreThanPlugIns) {
  const Json reader = Json::parse(config_schema());
  const auto differ_without = [&](const std::string& pointer) {
    Json published = reader;
    const Json::json_pointer key(pointer);
    published[key.parent_pointer()].erase(key.back());
    std::vector<std::string> differ;
    compare(published, reader, "", differ);
    return differ;
  };
  const std::string driver = "/properties/driver/properties";
  EXPECT_THAT(differ_without("/properties/workload/properties/batch"), testing::IsEmpty());
  EXPECT_THAT(differ_without(driver + "/eviction_options/properties/kinds"), testing::IsEmpty());
  EXPECT_THAT(differ_without(driver + "/version"), testing::ElementsAre(driver + "/version: not published"));
}

}  // namespace
}  // namespace uvmsim
