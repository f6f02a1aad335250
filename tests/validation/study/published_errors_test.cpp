// The bands of a run know a machine with costs of its own by what validation/results.json says of it: a machine file
// that has changed since would get the bands of a stranger.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "machine/description.h"
#include "study/validation/results_page.h"

namespace uvmsim {
namespace {

TEST(PublishedErrors, KnowTheMachinesAsTheyAre) {
  std::set<std::string> known;
  const std::string folder = UVMSIM_SOURCE_DIR "/configs/machines", path = UVMSIM_SOURCE_DIR "/validation/results.json";
  const PublishedErrors published = read_errors(read_text_file(path).value(), path);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::vector<InputError> errors;
    ResolvedConfig resolved;
    const JsonValue value = load_json(entry.path().string(), read_text_file, errors);
    const Machine machine = read_machine(&value, "/machine", errors, resolved);
    ASSERT_TRUE(errors.empty()) << entry.path();
    if (std::ranges::count(published.own_costs, own_costs_of(machine)) > 0) known.insert(machine.name);
  }
  EXPECT_EQ(known.size(), published.own_costs.size());
  EXPECT_TRUE(known.contains("DGX-1 V100-32GB"));
}

}  // namespace
}  // namespace uvmsim
