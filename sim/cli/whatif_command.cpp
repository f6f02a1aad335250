#include "cli/whatif_command.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

#include "base/printable.h"
#include "cli/config_files.h"
#include "cli/interrupt.h"
#include "cli/points_bar.h"
#include "report/table.h"
#include "study/transform_section.h"
#include "study/what_if.h"

namespace uvmsim {
namespace {

struct WhatIfArguments {
  ConfigArguments config;
  std::vector<std::string> also;
  int top = 0;
  int processes = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  int timeout_s = 3600;
  bool json = false;
  bool quiet = false;
};

// UserError with every fault.
std::vector<NamedTransform> transforms_of(const std::vector<std::string>& texts) {
  std::vector<NamedTransform> named;
  std::vector<InputError> errors;
  for (const std::string& text : texts) named.push_back({text, parse_transform(text, "--with", errors)});
  if (!errors.empty()) throw UserError("whatif", std::move(errors));
  return named;
}

void ask(const WhatIfArguments& arguments, Console& console) {
  const Experiment experiment = read_config(arguments.config);
  ProgressBar bar(!arguments.quiet && shows_progress());
  const EndOnRequest end_on_request;
  WhatIfOptions options{.processes = arguments.processes,
                        .timeout = std::chrono::seconds(arguments.timeout_s),
                        .top = arguments.top,
                        .settings = experiment.overrides,
                        .also = transforms_of(arguments.also)};
  options.watch = watched(bar);
  WhatIfs found = what_if(experiment, options);
  bar.erase();
  if (const std::optional<PublishedErrors> errors = published_errors()) add_bands(found, *errors, experiment.machine);
  console.out << (arguments.json ? to_json(found) : folded(printable_lines(to_text(found))));
  const auto failed = [](const WhatIf& of) { return of.excluded.empty() && !of.completed(); };
  if (failed(found.base) || std::ranges::any_of(found.all, failed) || (found.composed && failed(*found.composed)))
    console.exit = ExitCode::Incomplete;
  if (end_requested()) end_interrupted(console);
}

}  // namespace

void add_whatif_command(Verb app, Console& console) {
  auto arguments = std::make_shared<WhatIfArguments>();
  Verb verb = app.verb("whatif", "show what each optimisation would gain, in one table");
  add_config_options(verb, arguments->config);
  verb.option("--top", arguments->top, "also combine the N optimisations that gain most").in_range(0, 1000);
  verb.option("--with", arguments->also,
              "NAME:KEY=VALUE,...: also this transform with these parameters; may be repeated")
      .repeatable();
  verb.option("-j,--processes", arguments->processes, "simulations at a time").in_range(1, 1024);
  verb.option("--timeout", arguments->timeout_s, "time limit of one simulation in seconds").positive().show_default();
  verb.flag("--json", arguments->json, "print one JSON object instead of a table");
  verb.flag("--quiet", arguments->quiet, "no progress bar");
  verb.run([arguments, &console] { ask(*arguments, console); });
}

}  // namespace uvmsim
