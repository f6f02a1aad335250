#include "cli/config_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "machine/description.h"
#include "machine/machine_remarks.h"
#include "study/config_text.h"

namespace uvmsim {
namespace {

struct ShowOptions {
  ConfigArguments config;
  bool json = false;
};

// The machine that `path` describes alone, without "workload" around it; nullopt: it is a configuration.
std::optional<Machine> machine_in(const std::string& path, ResolvedConfig& resolved) {
  std::vector<InputError> errors;
  const JsonValue document = load_json(path, beside_or_bundled(path, configs_folder()), errors);
  if (!errors.empty()) throw UserError(path, std::move(errors));
  if (document.find("machine") != nullptr || document.find("workload") != nullptr) return std::nullopt;
  Machine machine = read_machine(&document, "/machine", errors, resolved);
  if (!errors.empty()) throw UserError(path, std::move(errors));
  return machine;
}

// Of what a file says of its machine: names and kinds need no status.
bool states_no_status(const ResolvedValue& value) {
  const bool is_name = value.json.starts_with('"') && (value.json[1] < '0' || value.json[1] > '9');
  return value.pointer.starts_with("/machine") && value.status.empty() && value.origin != "default" && !is_name;
}

void check(const std::string& path, Console& console) {
  ResolvedConfig resolved;
  std::optional<Machine> machine = machine_in(path, resolved);
  const std::string what = machine ? "machine" : "configuration";
  if (!machine) {
    Experiment experiment = read_config({.config = path});
    machine = std::move(experiment.machine);
    resolved = std::move(experiment.resolved);
  }
  const auto guessed = std::ranges::count_if(resolved, states_no_status);
  const std::vector<std::string> remarks = machine_remarks(*machine);
  console.out << printable(path) << ": a " << what << " that can be simulated: " << printable(machine->name) << ", "
              << machine->gpus.size() << " x " << printable(machine->gpus.front().name) << "\n";
  for (const std::string& remark : remarks) console.out << "  suspicious: " << printable(remark) << "\n";
  if (guessed > 0)
    console.out << "  " << guessed << " of the machine's values state no status; `uvmsim config show` lists them\n";
}

}  // namespace

void add_config_command(Verb app, Console& console) {
  Verb config = app.verb("config", "show or check a configuration, or print the schema");
  config.require_verb();

  auto options = std::make_shared<ShowOptions>();
  Verb show = config.verb("show", "print every value, where it comes from and how well it is known");
  add_config_options(show, options->config);
  show.flag("--json", options->json, "print JSON that is itself a configuration");
  show.run([options, &console] {
    const Experiment experiment = read_config(options->config);
    console.out << (options->json ? to_json(experiment.resolved, true)
                                  : printable_lines(resolved_text(experiment.resolved)));
  });

  auto file = std::make_shared<std::string>();
  Verb checking = config.verb(
      "check",
      "say whether a configuration, or a machine by itself, can be simulated, and what looks wrong about its machine");
  checking.option("file", *file, "a configuration or a machine file").required().existing_file();
  checking.run([file, &console] { check(*file, console); });

  Verb schema = config.verb("schema", "print the JSON Schema of configuration files");
  schema.run([&console] { console.out << config_schema(); });
}

}  // namespace uvmsim
