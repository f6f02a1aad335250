#include "cli/command_tree.h"

#include <CLI/CLI.hpp>

namespace uvmsim {
namespace {

// "{calibration,validation}" in the type of an option that CLI::IsMember checks.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) return choices;
  for (std::size_t start = open + 1; start < close;) {
    const std::size_t end = std::min(type.find(',', start), close);
    choices.push_back(type.substr(start, end - start));
    start = end + 1;
  }
  return choices;
}

Command command_below(const CLI::App& app, const std::string& outer) {
  Command command{.name = app.get_name(),
                  .path = outer.empty() ? app.get_name() : outer + " " + app.get_name(),
                  .doc = app.get_description(),
                  .options = {},
                  .arguments = {},
                  .verbs = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool many = option->get_items_expected_max() > 1;
    if (option->get_positional()) {
      command.arguments.push_back({.name = option->get_name(true),
                                   .doc = option->get_description(),
                                   .required = option->get_required(),
                                   .many = many});
      continue;
    }
    const auto& longs = option->get_lnames();
    const auto& shorts = option->get_snames();
    command.options.push_back({.long_name = longs.empty() ? "" : "--" + longs.front(),
                               .short_name = shorts.empty() ? "" : "-" + shorts.front(),
                               .doc = option->get_description(),
                               .takes_value = option->get_items_expected_max() > 0,
                               .repeatable = many,
                               .choices = choices_of(*option)});
  }
  for (const CLI::App* verb : app.get_subcommands(nullptr))
    if (!verb->get_group().empty()) command.verbs.push_back(command_below(*verb, command.path));
  return command;
}

void collect(const Command& command, std::vector<const Command*>& all) {
  all.push_back(&command);
  for (const Command& verb : command.verbs) collect(verb, all);
}

}  // namespace

Command command_tree(const CLI::App& app) { return command_below(app, ""); }

std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> all;
  collect(command, all);
  return all;
}

const std::vector<ExitStatus>& exit_statuses() {
  static const std::vector<ExitStatus> all = {
      {0, "done"},
      {1, "a check failed: a value outside its tolerance, results that differ, a workload that does not fit"},
      {2, "the input is wrong: every error is listed with its place, and nothing was written"},
      {3, "uvmsim cannot work here: packages, disk or memory are missing"},
      {4, "the simulated run did not complete (out of memory, deadlock), or points of a sweep failed"},
      {5, "an internal error of uvmsim"},
      {130, "interrupted"}};
  return all;
}

}  // namespace uvmsim
