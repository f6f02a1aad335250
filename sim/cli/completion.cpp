#include "cli/completion.h"

#include <algorithm>

#include "base/join.h"

namespace uvmsim {
namespace {

std::vector<std::string> verb_names(const Command& command) {
  std::vector<std::string> names;
  for (const Command& verb : command.verbs) names.push_back(verb.name);
  return names;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const CommandOption& option : command.options)
    for (const std::string& name : {option.long_name, option.short_name})
      if (!name.empty()) names.push_back(name);
  return names;
}

std::vector<std::string> argument_words(const Command& command, const ArgumentWords& words) {
  std::vector<std::string> all;
  for (const CommandArgument& argument : command.arguments)
    if (const auto of = words.find(argument.name); of != words.end())
      all.insert(all.end(), of->second.begin(), of->second.end());
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// Inside '...' of a POSIX shell.
std::string shell_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// Inside '...' of fish.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string function_name(const Command& command) { return "_" + replaced(command.path, " ", "_"); }

// One specification of zsh's _arguments. Colons and brackets mean something there.
std::string zsh_spec(const CommandOption& option) {
  std::string doc = option.doc;
  for (const std::string special : {"[", "]", ":"}) doc = replaced(doc, special, "\\" + special);
  const std::string value =
      !option.takes_value ? ""
                          : ":value:" + (option.choices.empty() ? "_files" : "(" + joined(option.choices, " ") + ")");
  std::string specs;
  for (const std::string& name : {option.long_name, option.short_name})
    if (!name.empty())
      specs += " \\\n    " + shell_quoted((option.repeatable ? "*" : "") + name + "[" + doc + "]" + value);
  return specs;
}

std::string zsh_function(const Command& command, const ArgumentWords& words) {
  std::string text = function_name(command) + "() {\n  local curcontext=$curcontext state line\n  local -a verbs\n";
  std::string specs;
  for (const CommandOption& option : command.options) specs += zsh_spec(option);
  const std::vector<std::string> own = argument_words(command, words);
  if (command.verbs.empty()) {
    return text + "  _arguments" + specs + " \\\n    " +
           (own.empty() ? "'*:file:_files'"
                        : shell_quoted("*:argument:{_alternative 'words:name:(" + joined(own, " ") +
                                       ")' 'files:file:_files'}")) +
           "\n}\n";
  }
  text += "  verbs=(\n";
  for (const Command& verb : command.verbs)
    text += "    " + shell_quoted(verb.name + ":" + replaced(verb.doc, ":", "\\:")) + "\n";
  text += "  )\n  _arguments -C" + specs +
          " \\\n    '1: :->verb' '*:: :->rest'\n  case $state in\n    verb) _describe command verbs ;;\n";
  text += "    rest)\n      case $words[1] in\n";
  for (const Command& verb : command.verbs) text += "        " + verb.name + ") " + function_name(verb) + " ;;\n";
  return text + "        *) _files ;;\n      esac ;;\n  esac\n}\n";
}

}  // namespace

std::string bash_completion(const Command& root, const ArgumentWords& words) {
  std::string paths, lists, values;
  for (const Command* command : all_commands(root)) {
    if (command != &root) paths += (paths.empty() ? "" : " | ") + ("\"" + command->path + "\"");
    std::vector<std::string> own = verb_names(*command);
    const std::vector<std::string> named = argument_words(*command, words);
    own.insert(own.end(), named.begin(), named.end());
    lists += "    \"" + command->path + "\")\n      options=\"" + joined(option_names(*command), " ") +
             "\"\n      words=\"" + joined(own, " ") + "\" ;;\n";
    for (const CommandOption& option : command->options) {
      if (!option.takes_value) continue;
      std::string pattern;
      for (const std::string& name : {option.long_name, option.short_name})
        if (!name.empty()) pattern += (pattern.empty() ? "" : " | ") + ("\"" + command->path + " " + name + "\"");
      values += "    " + pattern + ") options= words=\"" + joined(option.choices, " ") + "\" ;;\n";
    }
  }
  const std::string function = "_" + root.name;
  return "# bash completion of " + root.name + ": put it in /usr/share/bash-completion/completions/" + root.name +
         ", or source it.\n" + function +
         "() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local command=" +
         root.name +
         " options= words= i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"$command ${COMP_WORDS[i]}\" in\n      " +
         paths +
         ") command=\"$command ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n  done\n"
         "  case $command in\n" +
         lists +
         "  esac\n"
         "  case \"$command $before\" in\n" +
         values +
         "  esac\n"
         "  [[ $current == -* ]] && words=$options\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))  # without a match, files: -o default\n"
         "}\n"
         "complete -o bashdefault -o default -F " +
         function + " " + root.name + "\n";
}

std::string zsh_completion(const Command& root, const ArgumentWords& words) {
  std::string text = "#compdef " + root.name + "\n# zsh completion of " + root.name + ": put it as _" + root.name +
                     " in a folder of $fpath.\n";
  for (const Command* command : all_commands(root)) text += zsh_function(*command, words);
  return text + function_name(root) + " \"$@\"\n";
}

std::string fish_completion(const Command& root, const ArgumentWords& words) {
  const std::string path_function = "__" + root.name + "_command";
  std::string paths;
  for (const Command* command : all_commands(root))
    if (command != &root) paths += " " + fish_quoted(command->path);
  std::string text =
      "# fish completion of " + root.name + ": put it in /usr/share/fish/vendor_completions.d/" + root.name +
      ".fish.\nfunction " + path_function + "\n  set -l command " + root.name +
      "\n  for word in (commandline -opc)[2..-1]\n    switch \"$command $word\"\n      case" + paths +
      "\n        set command \"$command $word\"\n    end\n  end\n  test \"$command\" = \"$argv[1]\"\nend\n";
  for (const Command* command : all_commands(root)) {
    const std::string line =
        "complete -c " + root.name + " -n " + fish_quoted(path_function + " " + fish_quoted(command->path));
    for (const Command& verb : command->verbs)
      text += line + " -f -a " + fish_quoted(verb.name) + " -d " + fish_quoted(verb.doc) + "\n";
    if (const std::vector<std::string> own = argument_words(*command, words); !own.empty())
      text += line + " -a " + fish_quoted(joined(own, " ")) + "\n";
    for (const CommandOption& option : command->options) {
      text += line;
      if (!option.long_name.empty()) text += " -l " + option.long_name.substr(2);
      if (!option.short_name.empty()) text += " -s " + option.short_name.substr(1);
      if (option.takes_value)
        text += option.choices.empty() ? " -r" : " -x -a " + fish_quoted(joined(option.choices, " "));
      text += " -d " + fish_quoted(option.doc) + "\n";
    }
  }
  return text;
}

}  // namespace uvmsim
