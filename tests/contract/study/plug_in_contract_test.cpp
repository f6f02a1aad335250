// What holds for every plug-in, whatever its kind.
#include <gmock/gmock.h>

#include "base/field_text.h"
#include "base/registry.h"
#include "study/config_keys.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;

class PlugInContract : public testing::TestWithParam<const PlugInKind*> {};

TEST_P(PlugInContract, SaysWhatItIsAndWhereItComesFrom) {
  for (const PlugInText* plug_in : GetParam()->plug_ins()) {
    EXPECT_FALSE(plug_in->summary.empty()) << plug_in->name;
    EXPECT_FALSE(plug_in->source.empty()) << plug_in->name;
  }
}

// Made anew each time, with parameters that are in their range; and where a configuration has a place for them, they
// are among its keys.
TEST_P(PlugInContract, DescribesItsParameters) {
  const std::vector<ConfigKey> keys = config_keys();
  const std::string place(GetParam()->text().options);
  for (const std::string& name : GetParam()->names()) {
    const auto plug_in = GetParam()->make_plug_in(name);
    const auto [description, object] = plug_in->parameters();
    for (const FieldInfo& field : description->fields) {
      EXPECT_FALSE(field.doc.empty()) << name << "." << field.name;
      ASSERT_FALSE(place.empty()) << name << "." << field.name << ": no configuration has it";
      if (field.kind == FieldInfo::Kind::Section || field.kind == FieldInfo::Kind::SectionList) continue;
      const std::string key = place + (GetParam()->text().section_each ? "." + name : "") + "." + field.name;
      EXPECT_TRUE(std::ranges::any_of(keys, [&](const ConfigKey& k) { return k.key == key; })) << key;
    }
  }
}

TEST_P(PlugInContract, IsSuggestedForANameThatIsNear) {
  for (const std::string& name : GetParam()->names())
    if (name.size() > 3) {
      EXPECT_THAT(GetParam()->unknown("here", name.substr(1)).message, HasSubstr("did you mean \"")) << name;
    }
  EXPECT_THAT(GetParam()->unknown("here", "???").message,
              HasSubstr("see `uvmsim list " + std::string(GetParam()->text().name) + "`"));
}

INSTANTIATE_TEST_SUITE_P(All, PlugInContract, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return std::string(kind.param->text().name); });

}  // namespace
}  // namespace uvmsim
