#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim list [KIND]: the machines, configurations and plug-ins there are.
void add_list_command(CLI::App& app, Console& console);

// What KIND can be.
std::vector<std::string> list_kinds();

}  // namespace uvmsim
