#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim calibrate MACHINE --cases PATH...: fits a machine's costs to its calibration cases.
void add_calibrate_command(Verb app, Console& console);

}  // namespace uvmsim
