#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim calibrate MACHINE --cases PATH...: fits a machine's costs to its calibration cases.
void add_calibrate_command(CLI::App& app, Console& console);

}  // namespace uvmsim
