#include "cli/plan_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "study/planning.h"
#include "study/simulate.h"

namespace uvmsim {
namespace {

struct PlanArguments {
  std::string config, output, a, b;
  std::vector<std::string> settings;
  bool json = false;  // of diff
};

void make(const PlanArguments& arguments, Console& console) {
  if (arguments.config.empty()) throw UserError("uvmsim plan", "expected a config, or `diff` and two files");
  const Experiment experiment = read_config(arguments.config, arguments.settings);
  std::optional<OutputFile> output;
  if (!arguments.output.empty()) output.emplace(arguments.output);
  const PlanFile file = make_plans(experiment, make_trace(experiment));
  if (!output) {
    console.out << to_json(file);
    return;
  }
  output->stream() << to_json(file);
  output->keep();
  for (const Plan& plan : file.plans)
    console.out << "gpu" << plan.gpu << ": " << plan.actions.size() << " actions; "
                << (plan.feasible ? "fits" : "does not fit by itself, the rest is reclaimed on demand") << "; "
                << plan.why << "\n";
}

void compare(const PlanArguments& arguments, Console& console) {
  const std::vector<std::string> lines = diff(read_plan_file(arguments.a), read_plan_file(arguments.b));
  if (arguments.json) {
    console.out << nlohmann::ordered_json{{"differences", lines}}.dump(1) << "\n";
  } else {
    for (const std::string& line : lines) console.out << line << "\n";
  }
  if (!lines.empty()) console.exit = ExitCode::CheckFailed;
}

}  // namespace

PlanFile read_plan_file(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) throw UserError(path, "cannot be read");
  return read_plans(*text, path);
}

void add_plan_command(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* plan = app.add_subcommand("plan", "decide what happens to tensors that no kernel uses");
  plan->add_option("config", arguments->config,
                   "a configuration file with a plan section, or the name of a bundled one");
  plan->add_option("--set", arguments->settings, "KEY=VALUE; may be repeated, later ones win")->allow_extra_args(false);
  plan->add_option("-o,--output", arguments->output, "write the plans to this file; default: print them");
  CLI::App* difference = plan->add_subcommand("diff", "where two files of plans differ; exit status 1 if anywhere");
  difference->add_option("a", arguments->a, "a file of plans")->required();
  difference->add_option("b", arguments->b, "another")->required();
  difference->add_flag("--json", arguments->json, "print one JSON object: the lines, in an array");
  plan->callback([arguments, difference, &console] {
    difference->parsed() ? compare(*arguments, console) : make(*arguments, console);
  });
}

}  // namespace uvmsim
