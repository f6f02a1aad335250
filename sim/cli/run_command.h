#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim run CONFIG: simulates and prints the result.
void add_run_command(Verb app, Console& console);

}  // namespace uvmsim
