#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim run CONFIG: simulates and prints the result.
void add_run_command(CLI::App& app, Console& console);

}  // namespace uvmsim
