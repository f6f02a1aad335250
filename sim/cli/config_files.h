// Where the bundled configurations are, and which file a user means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/validation/results_page.h"

namespace uvmsim {

// The folder of the bundled configurations: share/uvmsim/configs of the prefix this program is installed in,
// or `configs` of the source tree it was built in. Throws UserError when there is neither.
std::string configs_folder();

// The folder of the bundled measured values and validation cases, beside that of the configurations.
std::string validation_folder();

// validation/results.json; nullopt when none is installed or no family in it has an error. Throws UserError when it is
// something else.
std::optional<PublishedErrors> published_errors();

// The file `path` means: itself; else, bundled under that name ("configs/v100_dgx1.json", "v100_dgx1").
// Throws UserError, with the nearest bundled name, when there is none.
std::string find_config(const std::string& path);

// The experiment in the file that `path` means, which may extend bundled files by their names there
// ("machines/a100_40gb.json"). Throws UserError with every fault.
Experiment read_config(const std::string& path, const std::vector<std::string>& settings);

// The .json files directly in `folder`, as names without ".json", sorted.
std::vector<std::string> config_names(const std::string& folder);

}  // namespace uvmsim
