#include "cli/help_commands.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <ostream>

#include "base/version.h"
#include "cli/completion.h"
#include "cli/config_files.h"
#include "cli/list_command.h"
#include "cli/man_page.h"
#include "workload/generator.h"

namespace uvmsim {
namespace {

ArgumentWords bundled_words() {
  const std::string folder = configs_folder();
  std::vector<std::string> runnable = config_names(folder);
  std::ranges::move(generators().names(), std::back_inserter(runnable));
  return {{"config", runnable},
          {"machine", config_names(folder + "/machines")},
          {"kind", list_kinds()},
          {"shell", {"bash", "zsh", "fish"}}};
}

}  // namespace

void add_help_commands(Verb app, Console& console) {
  auto shell = std::make_shared<std::string>();
  Verb completion = app.verb("completion", "print a script that completes commands in a shell");
  completion.option("shell", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  completion.run([shell, app, &console] {
    const Command root = command_tree(app.app());
    const ArgumentWords words = bundled_words();
    console.out << (*shell == "bash"  ? bash_completion(root, words)
                    : *shell == "zsh" ? zsh_completion(root, words)
                                      : fish_completion(root, words));
  });

  Verb man = app.verb("man", "print the man page");
  man.run([app, &console] { console.out << man_page(command_tree(app.app()), kVersion); });
}

}  // namespace uvmsim
