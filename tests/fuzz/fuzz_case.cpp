// Any bytes as a family of validation cases: refused with errors, or simulated and scored.
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "in_child.h"
#include "study/temporary_folder.h"
#include "study/validation/run_cases.h"
#include "study/validation/score_text.h"

namespace {

using namespace uvmsim;

const std::vector<Measurement>& measurements() {
  static const std::vector<Measurement> all =
      read_measurements(std::string(UVMSIM_SOURCE_DIR) + "/validation/measurements.json", read_text_file);
  return all;
}

// A run may be refused or take too long, which is a result as well; how a process ended that failed is said so.
bool is_sane(const RunResult& result) {
  const auto* error = std::get_if<std::string>(&result);
  return error == nullptr || !error->starts_with("a child process");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemporaryFolder folder;
  folder.write("family.json", std::string(reinterpret_cast<const char*>(data), size));
  const std::string configs = std::string(UVMSIM_SOURCE_DIR) + "/configs";
  try {
    const std::vector<CaseFamily> families = read_families(
        {.files = {folder.file("family.json")}, .configs_folder = configs, .settings = {}}, measurements());
    const RunResults results = run_cases(families, {.timeout = std::chrono::seconds(5), .cache = ""});
    for (const auto& [identity, result] : results) UVMSIM_CHECK(is_sane(result), "a run ended with an internal error");
    const std::vector<Score> scores = score_values(families, results);
    UVMSIM_CHECK(!score_text(scores, true).empty() && !score_json(scores).empty(), "no text");
  } catch (const UserError&) {
    // Most bytes are no case; what matters is that they are refused in order.
  }
  return 0;
}
