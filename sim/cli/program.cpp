#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <ostream>
#include <system_error>
#include <unistd.h>

#include "base/join.h"
#include "base/printable.h"
#include "base/user_error.h"
#include "base/version.h"
#include "cli/advise_command.h"
#include "cli/analyse_command.h"
#include "cli/calibrate_command.h"
#include "cli/command_tree.h"
#include "cli/compare_command.h"
#include "cli/config_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/driver_command.h"
#include "cli/explain_command.h"
#include "cli/fit_command.h"
#include "cli/help_commands.h"
#include "cli/list_command.h"
#include "cli/pipeline_command.h"
#include "cli/plan_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/stages_command.h"
#include "cli/stalls_command.h"
#include "cli/sweep_command.h"
#include "cli/terminal.h"
#include "cli/trace_command.h"
#include "cli/validate_command.h"
#include "cli/whatif_command.h"
#include "report/table.h"
#include "study/config_keys.h"

namespace uvmsim {
namespace {

void report(std::ostream& err, const std::string& message) {
  const bool colour = wants_colour(STDERR_FILENO);
  err << (colour ? "\x1b[1;31m" : "") << "uvmsim: " << (colour ? "\x1b[0m" : "") << printable_lines(message) << "\n";
}

// The verb the arguments got to, for suggestions and usage.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

// The ways to verbs below `app` that are called `name`: "trace import".
void find_verbs(const CLI::App& app, const std::string& name, const std::string& way, std::vector<std::string>& found) {
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (verb->get_name() == name) found.push_back(way + name);
    find_verbs(*verb, name, way + verb->get_name() + " ", found);
  }
}

std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  find_verbs(app, word, "", known);
  if (!known.empty()) return "; did you mean " + joined(known, " or ") + "?";
  for (const CLI::App* verb : innermost(app).get_subcommands(nullptr)) known.push_back(verb->get_name());
  for (const CLI::Option* option : innermost(app).get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  std::string near = nearest(word, known);
  if (near.empty() && word.starts_with("--")) {
    std::string name = word.substr(2, word.find('=') - 2);
    std::ranges::replace(name, '-', '_');
    const std::string key = key_named_like(name);
    if (!key.empty()) near = "--set " + key + "=VALUE";
  }
  return near.empty() ? "" : "; did you mean " + near + "?";
}

ExitCode refuse(const CLI::App& app, const CLI::ParseError& error, std::ostream& err) {
  // A misspelt verb is first of all unexpected, and only then a verb that is missing.
  const std::vector<std::string> unexpected = app.remaining(true);
  if (unexpected.empty())
    report(err, error.what());
  else
    report(err, "unexpected: " + unexpected.front() + suggestion(app, unexpected.front()));
  std::string verbs;
  for (const CLI::App* verb = &innermost(app); verb->get_parent() != nullptr; verb = verb->get_parent())
    verbs = verb->get_name() + " " + verbs;
  err << "try: uvmsim " << verbs << "--help\n";
  return ExitCode::InputError;
}

// How a verb that did its work ended, once all that it printed is written.
ExitCode ended(const Console& console) {
  if (console.out.flush()) return console.exit;
  report(console.err, "standard output cannot be written");
  return ExitCode::SetupImpossible;
}

std::string exit_status_text() {
  std::string text = "\nExit status:\n";
  for (const ExitStatus& status : exit_statuses()) {
    const std::string code = std::to_string(status.code);
    text += "  " + code + std::string(5 - code.size(), ' ') + status.meaning + "\n";
  }
  return text;
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, Peers* peers) {
  CLI::App app("uvmsim simulates NVIDIA Unified Virtual Memory: page faults, migration, eviction, PCIe.", "uvmsim");
  app.set_version_flag("--version", std::string("uvmsim ") + kVersion, "print the version and exit");
  app.require_subcommand(1);
  app.fallthrough(false);
  Console console{.out = out, .err = err, .peers = peers};
  const Verb root(app);
  add_run_command(root, console);
  add_plan_command(root, console);
  add_report_command(root, console);
  add_sweep_command(root, console);
  add_compare_command(root, console);
  add_whatif_command(root, console);
  add_stalls_command(root, console);
  add_pipeline_command(root, console);
  add_fit_command(root, console);
  add_stages_command(root, console);
  add_advise_command(root, console);
  add_analyse_command(root, console);
  add_explain_command(root, console);
  add_list_command(root, console);
  add_config_command(root, console);
  add_driver_command(root, console);
  add_trace_command(root, console);
  add_validate_command(root, console);
  add_calibrate_command(root, console);
  add_diff_command(root, console);
  add_doctor_command(root, console);
  add_help_commands(root, console);
  app.footer(exit_status_text());
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them last first
    return ended(console);
  } catch (const CLI::CallForHelp&) {
    out << folded(app.help());
    return ended(console);
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << "\n";
    return ended(console);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error, err);
  } catch (const UserError& error) {
    report(err, error.what());
    return ExitCode::InputError;
  } catch (const std::bad_alloc&) {
    report(err, "out of memory on this machine");
    return ExitCode::SetupImpossible;
  } catch (const std::system_error& error) {
    report(err, error.what());
    return ExitCode::SetupImpossible;
  } catch (const std::exception& error) {
    report(err, std::string("internal error: ") + error.what());
    return ExitCode::InternalError;
  }
}

}  // namespace uvmsim
