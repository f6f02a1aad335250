#include "cli/compare_command.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <thread>

#include "base/number_text.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/interrupt.h"
#include "cli/planner_policies.h"
#include "cli/points_bar.h"
#include "cli/policy_files.h"
#include "report/table.h"
#include "study/compare.h"

namespace uvmsim {
namespace {

struct CompareArguments {
  ConfigArguments config;
  std::vector<std::string> policies = default_policies();
  std::vector<std::string> planners, memories;
  int processes = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  int timeout_s = 3600;
  bool json = false;
  bool quiet = false;
};

PolicyExperiment experiment_of(const CompareArguments& arguments, PolicyFile policy) {
  ConfigArguments config = arguments.config;
  config.settings.insert(config.settings.end(), policy.settings.begin(), policy.settings.end());
  Experiment experiment = read_config(config);
  return {std::move(policy), std::move(experiment)};
}

// What --policies and --planners name. Beside planners those of Unified Memory have none, and managed memory.
std::vector<PolicyExperiment> experiments_of(const CompareArguments& arguments) {
  std::vector<PolicyExperiment> all;
  for (PolicyFile& policy : find_policies(arguments.policies)) {
    if (!arguments.planners.empty()) policy.settings.insert(policy.settings.begin(), "workload.memory=managed");
    all.push_back(experiment_of(arguments, std::move(policy)));
    if (!arguments.planners.empty()) all.back().experiment.plan = {};
  }
  if (!arguments.planners.empty())
    for (PolicyFile& planner : planner_policies(arguments.planners))
      all.push_back(experiment_of(arguments, std::move(planner)));
  return all;
}

// What a text that is no memory may have meant: "; did you mean "8 GB"?", or "".
std::string memory_meant_by(const std::string& text) {
  const std::size_t unit = text.find_last_of("0123456789. ") + 1;
  const std::string near = nearest(text.substr(unit), {"B", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB"});
  std::string meant = unit < text.size() && !near.empty() ? text.substr(0, unit) + near : "";
  if (const std::optional<double> percent = parse_number(text); percent && *percent > kMostMemoryShare)
    meant = number_text(*percent / 100);
  return parse_memory_amount(meant) ? "; did you mean \"" + meant + "\"?" : "";
}

std::vector<MemoryAmount> memories_of(const std::vector<std::string>& texts) {
  std::vector<MemoryAmount> memories;
  std::vector<InputError> errors;
  for (const std::string& text : texts) {
    const std::optional<MemoryAmount> amount = parse_memory_amount(text);
    if (!amount)
      errors.push_back(
          {"--memory", "\"" + text + "\" is no memory: expected a share of what an iteration holds, up to " +
                           number_text(kMostMemoryShare) + ", or " + std::string(kBytesForm) + memory_meant_by(text)});
    if (std::ranges::count(texts, text) > 1 && &text == &*std::ranges::find(texts, text))
      errors.push_back({"--memory", "\"" + text + "\" is named twice"});
    memories.push_back(amount.value_or(MemoryAmount{}));
  }
  if (!errors.empty()) throw UserError("compare", std::move(errors));
  return memories;
}

void compare_policies(CompareArguments arguments, bool policies_given, Console& console) {
  if (!arguments.planners.empty() && !policies_given) arguments.policies = {"default"};
  const std::vector<MemoryAmount> memories = memories_of(arguments.memories);
  const Experiment base = read_config(arguments.config);
  const std::vector<PolicyExperiment> policies = experiments_of(arguments);

  ProgressBar bar(!arguments.quiet && shows_progress());
  const EndOnRequest end_on_request;
  CompareOptions options{
      .processes = arguments.processes, .timeout = std::chrono::seconds(arguments.timeout_s), .memories = memories};
  options.watch = watched(bar);
  Comparison comparison = compare(base, policies, options);
  comparison.ranked = !arguments.planners.empty();
  bar.erase();
  if (const std::optional<PublishedErrors> errors = published_errors()) add_bands(comparison, *errors, base.machine);

  console.out << (arguments.json ? to_json(comparison) : folded(printable_lines(to_text(comparison))));
  const auto failed = [](const PolicyResult& of) { return of.exists() && !of.completed(); };
  if (failed(comparison.in_core) || std::ranges::any_of(comparison.policies, failed))
    console.exit = ExitCode::Incomplete;
  if (end_requested()) end_interrupted(console);
}

}  // namespace

void add_compare_command(Verb app, Console& console) {
  auto arguments = std::make_shared<CompareArguments>();
  Verb compare = app.verb("compare", "compare policies on one workload, in one table");
  add_config_options(compare, arguments->config);
  Option policies =
      compare
          .option("--policies", arguments->policies,
                  "names from `uvmsim list policies` or files, separated by commas; speed-ups are against the first")
          .comma_separated()
          .show_default();
  compare
      .option("--planners", arguments->planners,
              "names from `uvmsim list planner`, or all: each runs on explicit memory and, by calls, on managed "
              "memory, the fastest first, after --policies (now by default only default). On explicit memory, "
              "PLANNER+CODEC encodes what moves by one of `uvmsim list codec`, PLANNER+COORDINATOR coordinates copies "
              "by one of `uvmsim list coordinator`, and PLANNER+all by each of them")
      .comma_separated();
  compare
      .option("--memory", arguments->memories,
              "also with this much memory on each GPU, a column for each, separated by commas: shares of what an "
              "iteration holds without a plan, such as 0.5, or sizes, such as 8GB")
      .comma_separated();
  compare.option("-j,--processes", arguments->processes, "simulations at a time").in_range(1, 1024);
  compare.option("--timeout", arguments->timeout_s, "time limit of one simulation in seconds, including its planning")
      .positive()
      .show_default();
  compare.flag("--json", arguments->json, "print one JSON object instead of a table");
  compare.flag("--quiet", arguments->quiet, "no progress bar");
  compare.run([arguments, policies, &console] { compare_policies(*arguments, policies.given(), console); });
}

}  // namespace uvmsim
