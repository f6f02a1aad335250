// Every value that others measured is used once: by cases of one role, as an input, or excluded with a reason.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

#include "study/validation/uses.h"

namespace uvmsim {
namespace {

const std::string kValidation = UVMSIM_SOURCE_DIR "/validation";

const std::vector<Measurement>& all_measurements() {
  static const std::vector<Measurement> list = read_measurements(kValidation + "/measurements.json", read_text_file);
  return list;
}

const std::vector<CaseFamily>& all_families() {
  static const std::vector<CaseFamily> list = [] {
    CaseSources sources;
    for (const auto& entry : std::filesystem::directory_iterator(kValidation + "/cases"))
      sources.files.push_back(entry.path().string());
    sources.configs_folder = UVMSIM_SOURCE_DIR "/configs";
    return read_families(sources, all_measurements());
  }();
  return list;
}

TEST(MeasuredValues, AreUsedByOneRole) {
  const std::vector<DeclaredUse> declared = read_uses(kValidation + "/uses.json", read_text_file);
  for (const MeasurementUse& use : uses_of(all_measurements(), all_families(), declared))
    EXPECT_TRUE(use.once()) << use.of->id << ": " << use.families.size() << " families, " << use.declared.size()
                            << " entries of uses.json";
}

TEST(MeasuredValues, EveryDeclaredUseMeansSome) {
  for (const DeclaredUse& declared : read_uses(kValidation + "/uses.json", read_text_file))
    for (const std::string& id : declared.ids)
      EXPECT_TRUE(std::ranges::any_of(all_measurements(), [&](const Measurement& m) { return matches_id(id, m.id); }))
          << id;
}

// Rows start with their number: "| 12 | ...".
TEST(Deviations, ThatCasesNameAreInTheList) {
  std::set<int> listed;
  std::ifstream page(kValidation + "/DEVIATIONS.md");
  for (std::string line; std::getline(page, line);) {
    std::smatch number;
    if (std::regex_search(line, number, std::regex(R"(^\| (\d+) \|)"))) {
      EXPECT_TRUE(listed.insert(std::stoi(number[1])).second) << "two rows " << number[1];
    }
  }
  for (const CaseFamily& family : all_families())
    for (const ValidationCase& one : family.cases)
      for (const MeasuredValue& value : one.measured)
        EXPECT_TRUE(value.deviation == 0 || listed.contains(value.deviation))
            << family.name << "/" << one.name << "/" << value.name << " names " << value.deviation;
}

}  // namespace
}  // namespace uvmsim
