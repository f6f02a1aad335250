#include "cli/fit_command.h"

#include <algorithm>
#include <memory>
#include <ostream>

#include "base/printable.h"
#include "cli/config_files.h"
#include "study/memory_fit.h"

namespace uvmsim {
namespace {

struct FitArguments {
  ConfigArguments config;
  std::vector<std::string> allocators;
  bool json = false;
};

}  // namespace

void add_fit_command(Verb app, Console& console) {
  auto arguments = std::make_shared<FitArguments>();
  Verb verb = app.verb("fit", "say whether an experiment fits in GPU memory, and the largest batch that does");
  add_config_options(verb, arguments->config);
  verb.option("--allocators", arguments->allocators, "NAME,NAME,...: compare these; default: the experiment's")
      .comma_separated();
  verb.flag("--json", arguments->json, "print JSON, with every number exact");
  verb.run([arguments, &console] {
    const Experiment experiment = read_config(arguments->config);
    const MemoryFitReport report = fit_memory(experiment, arguments->allocators);
    console.out << (arguments->json ? to_json(report) : printable_lines(to_text(report)));
    const auto fits = [](const MemoryFit& fit) { return fit.fits; };
    if (!std::ranges::all_of(report.fits, fits)) console.exit = ExitCode::CheckFailed;
  });
}

}  // namespace uvmsim
