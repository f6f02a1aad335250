#include "cli/result_folder.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/seed.h"
#include "base/user_error.h"
#include "report/json.h"
#include "report/json_fields.h"
#include "report/observations_json.h"
#include "report/report_fields.h"
#include "report/text.h"
#include "trace/digest.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";
// What the manifest names, and it: in the order in which they take their places.
constexpr std::array<const char*, 5> kFiles = {kManifest, "config.json", "result.json", "result.txt",
                                               "observations.json"};

std::string hash_of(const std::string& text) {
  trace::Digest digest;
  digest.add(text);
  return digest.hex();
}

std::string manifest(const Report& report, const std::map<std::string, std::string>& texts) {
  const RunRecord& run = report.run;
  OrderedJson json;
  json["simulator"] = run.simulator;
  json["version"] = run.version;
  json["experiment"] = run.experiment;
  json["inputs"] = json_of(run.inputs);
  json["seed"] = kSeed;
  for (const auto& [name, text] : texts) json["files"][name] = hash_of(text);
  return json.dump(2) + "\n";
}

// The resolved config, to be read from another folder: a trace is named relative to the config that names it.
ResolvedConfig movable(const Experiment& experiment) {
  ResolvedConfig values = experiment.resolved;
  for (ResolvedValue& value : values)
    if (value.pointer == "/workload/trace" && !experiment.workload.trace.empty())
      value.json = OrderedJson(fs::absolute(experiment.workload.trace).lexically_normal().string()).dump();
  return values;
}

}  // namespace

ResultFolder::ResultFolder(const fs::path& folder, const std::vector<std::string>& inputs) {
  make_folder(folder);
  for (const char* name : kFiles) files_.try_emplace(name, (folder / name).string(), inputs);
}

void ResultFolder::keep(const Experiment& experiment, const Report& report, const Observations& observations) {
  std::map<std::string, std::string> texts = {{"config.json", to_json(movable(experiment), true)},
                                              {"result.json", to_json(report)},
                                              {"result.txt", to_text(report, false)},
                                              {"observations.json", to_json(observations)}};
  texts[kManifest] = manifest(report, texts);
  for (const auto& [name, text] : texts) {
    files_.at(name).stream() << text;
    files_.at(name).finish();
  }
  for (const char* name : kFiles) files_.at(name).keep();
}

void check_result_folder(const fs::path& folder) {
  const std::optional<std::string> text = read_text_file((folder / kManifest).string());
  const OrderedJson json = text ? OrderedJson::parse(*text, nullptr, false) : OrderedJson();
  if (!json.is_object() || !json.contains("files") || !json["files"].is_object()) return;
  std::vector<InputError> errors;
  for (const auto& [name, hash] : json["files"].items()) {
    if (fs::path(name).filename() != name) continue;  // of no file here
    const std::optional<std::string> file = read_text_file((folder / name).string());
    if (!file || hash != hash_of(*file))
      errors.push_back({(folder / name).string(), file ? "is not of the run that manifest.json is of" : "is missing"});
  }
  if (!errors.empty()) throw UserError(folder.string() + " holds no whole result", std::move(errors));
}

}  // namespace uvmsim
