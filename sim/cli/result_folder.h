// What `uvmsim run -o DIR` keeps.
#pragma once

#include <filesystem>
#include <string>

#include "observe/observations.h"
#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

class ResultFolder {
 public:
  // Makes the folder, if it is not there. Throws UserError when files cannot be written there.
  explicit ResultFolder(const std::filesystem::path& folder);

  // Writes config.json (resolved: `uvmsim run` on it repeats the run), manifest.json (version, input hashes, seed),
  // result.json, result.txt and observations.json. Each appears whole, or not at all.
  void keep(const Experiment& experiment, const Report& report, const Observations& observations) const;

 private:
  void write(const std::string& name, const std::string& text) const;

  std::filesystem::path folder_;
};

}  // namespace uvmsim
