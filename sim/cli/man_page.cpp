#include "cli/man_page.h"

#include <algorithm>

namespace uvmsim {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string synopsis(const Command& command) {
  std::string line = ".B " + escaped(command.path) + "\n";
  if (!command.verbs.empty()) line += command.arguments.empty() ? ".I COMMAND\n" : "[\\fICOMMAND\\fR]\n";
  for (const CommandArgument& argument : command.arguments) {
    const std::string name = "\\fI" + escaped(upper(argument.name)) + "\\fR" + (argument.many ? "..." : "");
    line += argument.required ? name + "\n" : "[" + name + "]\n";
  }
  return line + "[\\fIOPTIONS\\fR]\n";
}

std::string option_entry(const CommandOption& option) {
  std::string names;
  for (const std::string& name : {option.short_name, option.long_name})
    if (!name.empty()) names += (names.empty() ? "" : ", ") + ("\\fB" + escaped(name) + "\\fR");
  std::string value;
  for (const std::string& choice : option.choices) value += (value.empty() ? "" : "|") + escaped(choice);
  if (option.takes_value) names += value.empty() ? " \\fIVALUE\\fR" : " " + value;
  return ".TP\n" + names + "\n" + escaped(option.doc) + "\n";
}

std::string section(const Command& command) {
  std::string text = ".SS " + escaped(command.path) + "\n" + escaped(command.doc) + "\n.PP\n" + synopsis(command);
  for (const CommandArgument& argument : command.arguments)
    text += ".TP\n.I " + escaped(upper(argument.name)) + "\n" + escaped(argument.doc) + "\n";
  for (const CommandOption& option : command.options)
    if (option.long_name != "--help") text += option_entry(option);
  return text;
}

}  // namespace

std::string man_page(const Command& root, const std::string& version) {
  std::string text = ".TH " + upper(root.name) + " 1 \"\" \"" + root.name + " " + version + "\" \"User Commands\"\n";
  text += ".SH NAME\n" + root.name + " \\- simulate NVIDIA Unified Virtual Memory\n";
  text += ".SH SYNOPSIS\n" + synopsis(root);
  text += ".SH DESCRIPTION\n" + escaped(root.doc) +
          "\n.PP\nResults go to standard output, everything else to standard error. "
          "Every command has \\fB\\-\\-help\\fR; \\fB" +
          root.name + " \\-\\-version\\fR says which version this is.\n.SH COMMANDS\n";
  for (const Command* command : all_commands(root))
    if (command != &root) text += section(*command);
  text += ".SH EXIT STATUS\n";
  for (const ExitStatus& status : exit_statuses())
    text += ".TP\n.B " + std::to_string(status.code) + "\n" + escaped(status.meaning) + "\n";
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B NO_COLOR\nwhen set and not empty, no output has colour\n"
      ".TP\n.B SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT\nthe shard of a sweep in a task of a Slurm array\n";
  return text;
}

}  // namespace uvmsim
