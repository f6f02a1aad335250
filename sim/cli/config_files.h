// Where the bundled configurations are, and which file a user means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_document.h"
#include "cli/verb.h"
#include "study/experiment.h"
#include "study/validation/results_page.h"

namespace uvmsim {

// The folder of the bundled configurations: share/uvmsim/configs of the prefix this program is installed in,
// or `configs` of the source tree it was built in. Throws UserError when there is neither.
std::string configs_folder();

// The folder that the bundled configurations are in: what else belongs to the program stands there, too.
std::string data_folder();

// The folder of the bundled measured values and validation cases, next to that of the configurations.
std::string validation_folder();

// validation/results.json; nullopt when none is installed or no family in it has an error. Throws UserError when it is
// something else.
std::optional<PublishedErrors> published_errors();

// What to simulate, as the arguments of a command say it.
struct ConfigArguments {
  std::string config = {};   // a configuration file or the name of a bundled one, a trace file, or a generator's name
  std::string machine = {};  // a machine file or the name of a bundled one; "": the config's, else kDefaultMachine
  std::vector<std::string> settings = {};  // KEY=VALUE, in order
};

// What traces and generators run on when no machine is named: the card that most of what was measured ran on.
inline constexpr const char* kDefaultMachine = "v100_sxm2_32gb";

// The argument "config" and the options --machine and --set of a command, which outlives neither.
void add_config_options(Verb command, ConfigArguments& arguments, bool required = true);

// The experiment that `arguments` mean, which may extend bundled files by their names there
// ("machines/a100_40gb.json"). A trace or a generator becomes one on its machine, with the framework's allocator of its
// time; "generator.NAME" is a generator whatever else has the name. Durations that were measured are of the
// configuration's machine, those of a trace of the --machine: any other that takes its place has them scaled. Throws
// UserError with every fault.
Experiment read_config(const ConfigArguments& arguments);

// The document that `arguments` mean, on its machine, without their settings, and the name of what it is. Throws
// UserError with every fault.
struct NamedDocument {
  std::string name;
  JsonValue document;
  bool is_trace = false;
};
NamedDocument read_document(const ConfigArguments& arguments);

// All bundled machines, sorted by name; the first GPU of one. Throw UserError: a file is faulty; about `option`, with
// the nearest name, when no machine has that name.
std::vector<Machine> bundled_machines();
GpuSpec bundled_gpu(const std::string& option, const std::string& machine);

// The .json files directly in `folder`, as names without ".json", sorted.
std::vector<std::string> config_names(const std::string& folder);

}  // namespace uvmsim
