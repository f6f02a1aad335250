#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim diff A B: what differs between two results, or between two sweeps.
void add_diff_command(Verb app, Console& console);

}  // namespace uvmsim
