#include "cli/driver_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/driver_prefetch.h"

namespace uvmsim {

void add_driver_command(CLI::App& app, Console& console) {
  CLI::App* driver = app.add_subcommand("driver", "run parts of the driver model on their own");
  driver->require_subcommand(1);

  auto file = std::make_shared<std::string>();
  CLI::App* prefetch = driver->add_subcommand("prefetch", "check the density prefetcher against a file of vectors");
  prefetch->add_option("file", *file, "JSON: single services and sweeps with what is expected")->required();
  auto json = std::make_shared<bool>(false);
  prefetch->add_flag("--json", *json, "print one JSON object");
  prefetch->callback(
      [file, json, &console] { console.exit = static_cast<ExitCode>(run_driver_prefetch(*file, *json, console.out)); });
}

}  // namespace uvmsim
