#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim sweep CONFIG: simulates a grid of points. uvmsim sweep merge DIR, sweep show DIR.
void add_sweep_command(CLI::App& app, Console& console);

}  // namespace uvmsim
