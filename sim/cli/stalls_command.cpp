#include "cli/stalls_command.h"

#include <memory>
#include <ostream>

#include "base/printable.h"
#include "cli/config_files.h"
#include "study/data_stalls.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

struct StallsArguments {
  ConfigArguments config;
  bool json = false;
};

void measure(const StallsArguments& arguments, Console& console) {
  const Experiment experiment = read_config(arguments.config);
  const Result result = run_experiment(experiment);
  if (result.outcome != Outcome::Completed) {
    console.err << "uvmsim: the run did not complete: " << printable(result.detail) << "\n";
    console.exit = ExitCode::Incomplete;
    return;
  }
  const DataStalls stalls = data_stalls(experiment, result);
  console.out << (arguments.json ? to_json(stalls) : printable_lines(to_text(stalls)));
}

}  // namespace

void add_stalls_command(Verb app, Console& console) {
  auto arguments = std::make_shared<StallsArguments>();
  Verb verb = app.verb("stalls", "find out how long training waits for its data: storage, memory, cores, GPUs");
  add_config_options(verb, arguments->config);
  verb.flag("--json", arguments->json, "print one JSON object instead of tables");
  verb.run([arguments, &console] { measure(*arguments, console); });
}

}  // namespace uvmsim
