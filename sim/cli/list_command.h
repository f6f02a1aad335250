#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim list [KIND]: the machines, configurations and plug-ins there are.
void add_list_command(Verb app, Console& console);

// What KIND can be.
std::vector<std::string> list_kinds();

}  // namespace uvmsim
