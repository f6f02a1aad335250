// Whatever bytes a configuration consists of, it is read or refused.
#include <gtest/gtest.h>
#include <random>

#include "study/config_keys.h"
#include "study/config_text.h"
#include "study/experiment.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

// A bundled experiment with a few bytes replaced, inserted or cut.
std::string mutated(std::string text, std::mt19937_64& random) {
  static constexpr std::string_view kBytes = "{}[]\",:0123456789.eE-+/* \n\\untrlsfaGiBx\xff";
  for (std::uint64_t edits = random() % 6 + 1; edits > 0; --edits) {
    const std::size_t at = random() % text.size();
    const char byte = kBytes[random() % kBytes.size()];
    switch (random() % 3) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      default:
        text.erase(at, random() % 5 + 1);
    }
  }
  return text;
}

TEST(ParseConfigBytes, MutatedConfigurationsAreReadOrRefused) {
  const Experiment whole = read_experiment(UVMSIM_SOURCE_DIR "/configs/v100_dgx1.json");
  const std::string text = to_json(whole.resolved, true);  // all sections in one file: nothing to extend
  std::mt19937_64 random(20261121);
  for (int trial = 0; trial < 2000; ++trial) EXPECT_NO_THROW(parse_config_bytes(mutated(text, random))) << trial;
}

// Every key can be set to its own default, and says so.
TEST(Settings, EveryKeyTakesItsDefault) {
  for (const ConfigKey& key : config_keys()) {
    if (key.default_json.empty() || !key.plug_in.empty() || key.key == "workload.generator") continue;
    // Links, memories, transforms and stages are in lists. Links and memories have names, which differ and have no
    // default; options of calls are keys where their policy is chosen, those of plans where a planner is.
    const auto in = [&](const char* section) { return key.key.starts_with(section); };
    if (in("machine.links.") || in("machine.memories.") || in("workload.transforms.") || in("workload.stages.") ||
        in("workload.call_options.") || in("plan."))
      continue;
    const Experiment e =
        read_experiment(UVMSIM_SOURCE_DIR "/configs/v100_dgx1.json", {key.key + "=" + key.default_json});
    std::string pointer = "/" + key.key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    bool found = false;
    for (const ResolvedValue& value : e.resolved)
      if (value.pointer == pointer) {
        found = true;
        EXPECT_EQ(value.json, key.default_json) << key.key;
        EXPECT_EQ(value.origin, "--set") << key.key;
      }
    EXPECT_TRUE(found) << key.key;
  }
}

}  // namespace
}  // namespace uvmsim
