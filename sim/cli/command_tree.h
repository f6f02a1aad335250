// The commands of a program as CLI11 knows them, for what is generated from them: shell completion and the man page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace uvmsim {

struct CommandOption {
  std::string long_name, short_name;  // "--jobs", "-j"; "" when there is none
  std::string doc;
  bool takes_value = false;
  bool repeatable = false;
  std::vector<std::string> choices;  // of its value; empty: any
};

struct CommandArgument {
  std::string name, doc;
  bool required = false;
  bool many = false;
};

struct Command {
  std::string name;  // "merge"
  std::string path;  // "uvmsim sweep merge"
  std::string doc;
  std::vector<CommandOption> options;
  std::vector<CommandArgument> arguments;
  std::vector<Command> verbs;
};

// `app` and all below it, without what is hidden.
Command command_tree(const CLI::App& app);

// `command` and all below it, in order.
std::vector<const Command*> all_commands(const Command& command);

struct ExitStatus {
  int code;
  std::string meaning;
};
const std::vector<ExitStatus>& exit_statuses();

}  // namespace uvmsim
