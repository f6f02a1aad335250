#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim diff A B: what differs between two results, or between two sweeps.
void add_diff_command(CLI::App& app, Console& console);

}  // namespace uvmsim
