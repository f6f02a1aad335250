// What `uvmsim run -o DIR` keeps.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/output_file.h"
#include "observe/observations.h"
#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

class ResultFolder {
 public:
  // Makes the folder, if it is not there. Throws std::system_error when files cannot be written there, UserError when
  // one of them is among `inputs`, the files that the run reads, or, unless `overwrite`, when the folder holds the
  // result of another configuration than `experiment`'s.
  ResultFolder(const std::filesystem::path& folder, const Experiment& experiment, bool overwrite,
               const std::vector<std::string>& inputs);

  // Writes config.json (resolved: `uvmsim run` on it repeats the run), manifest.json (version, input hashes, seed, and
  // the hashes of the other files), result.json, result.txt and observations.json. All are written before the first
  // takes its place: a disk that is full leaves the results that were there.
  void keep(const Experiment& experiment, const Report& report, const Observations& observations);

 private:
  OutputFolder folder_;
  std::map<std::string, OutputFile> files_;  // by name
};

// Throws UserError, one error per file, when files of a result folder are not those that its manifest.json names: of
// two runs. A folder without a manifest, or with one that names no files, may hold anything.
void check_result_folder(const std::filesystem::path& folder);

}  // namespace uvmsim
