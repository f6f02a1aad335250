#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim completion SHELL, uvmsim man: written from all commands of `app`, those added later included.
void add_help_commands(CLI::App& app, Console& console);

}  // namespace uvmsim
