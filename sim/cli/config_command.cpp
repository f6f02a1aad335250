#include "cli/config_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "base/printable.h"
#include "cli/config_files.h"
#include "study/config_text.h"

namespace uvmsim {
namespace {

struct ShowOptions {
  ConfigArguments config;
  bool json = false;
};

}  // namespace

void add_config_command(CLI::App& app, Console& console) {
  CLI::App* config = app.add_subcommand("config", "show what a configuration resolves to, or the schema of all");
  config->require_subcommand(1);

  auto options = std::make_shared<ShowOptions>();
  CLI::App* show = config->add_subcommand("show", "every value, with where it comes from and how well it is known");
  add_config_options(*show, options->config);
  show->add_flag("--json", options->json, "as JSON that is itself a configuration");
  show->callback([options, &console] {
    const Experiment experiment = read_config(options->config);
    console.out << (options->json ? to_json(experiment.resolved, true)
                                  : printable_lines(resolved_text(experiment.resolved)));
  });

  CLI::App* schema = config->add_subcommand("schema", "the JSON Schema of configuration files");
  schema->callback([&console] { console.out << config_schema(); });
}

}  // namespace uvmsim
