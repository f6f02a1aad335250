#include "cli/advise_command.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <ostream>
#include <thread>

#include "base/printable.h"
#include "base/quantity.h"
#include "base/shell_word.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/policy_files.h"
#include "cli/program.h"
#include "cli/progress_bar.h"
#include "study/advice/advise.h"
#include "study/named_section.h"

namespace uvmsim {
namespace {

struct AdviseArguments {
  ConfigArguments config;
  std::vector<std::string> cards;
  std::string budget = "60 s";
  int processes = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  bool json = false;
  bool quiet = false;
};

std::chrono::seconds budget_of(const std::string& text) {
  const std::optional<Duration> budget = parse_duration(text);
  if (!budget || seconds(*budget) < 1)
    throw UserError("--budget " + text, "expected a time of at least a second, such as \"60 s\"");
  return std::chrono::seconds(static_cast<std::int64_t>(seconds(*budget)));
}

// What repeats the experiment without advice.
std::string command_of(const ConfigArguments& arguments) {
  std::string command = "uvmsim run " + shell_word(arguments.config);
  if (!arguments.machine.empty()) command += " --machine " + shell_word(arguments.machine);
  for (const std::string& setting : arguments.settings) command += " --set " + shell_word(setting);
  return command;
}

// The experiment with a candidate's changes; without a plan, unless the candidate is one.
Experiment read_with(ConfigArguments arguments, const Candidate& candidate) {
  if (!candidate.machine.empty()) arguments.settings.push_back("machine=" + candidate.machine);
  std::ranges::copy(candidate.settings, std::back_inserter(arguments.settings));
  Experiment experiment = read_config(arguments);
  if (candidate.kind != "planner") experiment.plan = {};
  return experiment;
}

// Every card is read once before anything runs.
void check_cards(const ConfigArguments& config, const std::vector<std::string>& cards) {
  std::vector<InputError> errors;
  for (const std::string& card : cards) {
    if (std::ranges::count(cards, card) > 1 && &card == &*std::ranges::find(cards, card))
      errors.push_back({"--on", "\"" + card + "\" is named twice"});
    named_section("machine", card, configs_folder(), "--on", errors);
  }
  if (!errors.empty()) throw UserError(config.config, std::move(errors));
}

void advise_on(const AdviseArguments& arguments, Console& console) {
  const std::chrono::seconds budget = budget_of(arguments.budget);
  check_cards(arguments.config, arguments.cards);
  ConfigArguments config = arguments.config;
  Experiment base = read_config(config);
  if (base.workload.placement.memory == "device") {
    config.settings.emplace_back("workload.memory=managed");  // what there is to do without a planner
    PlanConfig plan = std::move(base.plan);
    base = read_config(config);
    base.plan = std::move(plan);
  }

  ProgressBar bar(!arguments.quiet && shows_progress());
  const AdviceOptions options{.processes = arguments.processes,
                              .budget = budget,
                              .policies = find_policies(advised_policies()),
                              .cards = arguments.cards,
                              .command = command_of(config),
                              .read = [&](const Candidate& candidate) { return read_with(config, candidate); },
                              .errors = published_errors(),
                              .progress = [&](double share) { bar.show(share, "trying changes"); }};
  const Advice advice = advise(std::move(base), options);
  bar.erase();
  console.out << (arguments.json ? to_json(advice) : printable_lines(to_text(advice)));
  if (!advice.now.completed()) console.exit = ExitCode::Incomplete;
}

}  // namespace

void add_advise_command(Verb app, Console& console) {
  auto arguments = std::make_shared<AdviseArguments>();
  Verb advise = app.verb("advise", "say whether it fits, how slow it is if not, and what to change");
  add_config_options(advise, arguments->config);
  advise.option("--on", arguments->cards, "also on these machines: names from `uvmsim list machines`, or files")
      .comma_separated();
  advise.option("--budget", arguments->budget, "how long it may take; what could not be tried by then is listed")
      .show_default();
  advise.option("-j,--processes", arguments->processes, "simulations at a time").in_range(1, 1024);
  advise.flag("--json", arguments->json, "print one JSON object (sim/study/advice/ADVISE.md)");
  advise.flag("--quiet", arguments->quiet, "no progress bar");
  advise.run([arguments, &console] { advise_on(*arguments, console); });
}

}  // namespace uvmsim
