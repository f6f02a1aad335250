#include "cli/result_folder.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

#include "base/seed.h"
#include "cli/output_file.h"
#include "report/json.h"
#include "report/json_fields.h"
#include "report/observations_json.h"
#include "report/report_fields.h"
#include "report/text.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

std::string manifest(const Report& report) {
  const RunRecord& run = report.run;
  OrderedJson json;
  json["simulator"] = run.simulator;
  json["version"] = run.version;
  json["experiment"] = run.experiment;
  json["inputs"] = json_of(run.inputs);
  json["seed"] = kSeed;
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

ResultFolder::ResultFolder(const fs::path& folder) : folder_(folder) { make_folder(folder_); }

void ResultFolder::keep(const Experiment& experiment, const Report& report, const Observations& observations) const {
  write("config.json", to_json(movable(experiment), true));
  write("manifest.json", manifest(report));
  write("result.json", to_json(report));
  write("result.txt", to_text(report, false));
  write("observations.json", to_json(observations));
}

void ResultFolder::write(const std::string& name, const std::string& text) const {
  const fs::path unfinished = folder_ / ("." + name + "." + std::to_string(getpid()));
  {
    std::ofstream file(unfinished, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      std::error_code ignored;
      fs::remove(unfinished, ignored);
      throw std::system_error(std::make_error_code(std::errc::io_error), "cannot write " + (folder_ / name).string());
    }
  }
  fs::rename(unfinished, folder_ / name);
}

}  // namespace uvmsim
