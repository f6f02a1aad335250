#include "cli/result_folder.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/seed.h"
#include "base/user_error.h"
#include "report/json.h"
#include "report/json_fields.h"
#include "report/observations_json.h"
#include "report/report_fields.h"
#include "report/table.h"
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

std::string config_text(const Experiment& experiment) { return to_json(movable(experiment), true); }

// The files that the folder's manifest names, with their hashes; null: it names none.
OrderedJson files_of_manifest(const fs::path& folder) {
  const std::optional<std::string> text = read_text_file((folder / kManifest).string());
  const OrderedJson json = text ? OrderedJson::parse(*text, nullptr, false) : OrderedJson();
  return json.is_object() && json.contains("files") && json["files"].is_object() ? json["files"] : OrderedJson();
}

void refuse_other_result(const fs::path& folder, const Experiment& experiment) {
  std::error_code error;
  if (std::ranges::none_of(kFiles, [&](const char* name) { return fs::exists(folder / name, error); })) return;
  const OrderedJson files = files_of_manifest(folder);
  if (files.is_object() && files.value("config.json", OrderedJson()) == hash_of(config_text(experiment))) return;
  throw UserError("-o " + folder.string(),
                  "this folder holds the result of another configuration; name another folder, or replace the result "
                  "with --overwrite");
}

}  // namespace

ResultFolder::ResultFolder(const fs::path& folder, const Experiment& experiment, bool overwrite,
                           const std::vector<std::string>& inputs)
    : folder_(folder) {
  if (!overwrite) refuse_other_result(folder, experiment);
  for (const char* name : kFiles) files_.try_emplace(name, (folder / name).string(), inputs);
}

void ResultFolder::keep(const Experiment& experiment, const Report& report, const Observations& observations) {
  const PageWidth any;  // whatever the terminal
  std::map<std::string, std::string> texts = {{"config.json", config_text(experiment)},
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
  const OrderedJson files = files_of_manifest(folder);
  std::vector<InputError> errors;
  for (const auto& [name, hash] : files.items()) {
    if (fs::path(name).filename() != name) continue;  // of no file here
    const std::optional<std::string> file = read_text_file((folder / name).string());
    if (!file || hash != hash_of(*file))
      errors.push_back({(folder / name).string(), file ? "is not of the run that manifest.json is of" : "is missing"});
  }
  if (!errors.empty()) throw UserError(folder.string() + " holds no whole result", std::move(errors));
}

}  // namespace uvmsim
