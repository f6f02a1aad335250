// `uvmsim compare`: one workload under several policies.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_compare_command(CLI::App& app, Console& console);

}  // namespace uvmsim
