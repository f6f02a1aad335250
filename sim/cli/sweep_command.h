#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim sweep CONFIG: simulates a grid of points. uvmsim sweep merge DIR, sweep show DIR.
void add_sweep_command(Verb app, Console& console);

}  // namespace uvmsim
