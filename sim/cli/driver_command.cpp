#include "cli/driver_command.h"

#include <memory>

#include "cli/driver_prefetch.h"

namespace uvmsim {

void add_driver_command(Verb app, Console& console) {
  Verb driver = app.verb("driver", "run parts of the driver model on their own");
  driver.require_verb();

  auto file = std::make_shared<std::string>();
  Verb prefetch = driver.verb("prefetch", "check the density prefetcher against a file of vectors");
  prefetch.option("file", *file, "JSON: single services and sweeps with what is expected").required();
  auto json = std::make_shared<bool>(false);
  prefetch.flag("--json", *json, "print one JSON object");
  prefetch.run(
      [file, json, &console] { console.exit = static_cast<ExitCode>(run_driver_prefetch(*file, *json, console.out)); });
}

}  // namespace uvmsim
