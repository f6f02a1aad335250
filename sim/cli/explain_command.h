#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim explain KEY: what a key of the configuration means, and its values in the bundled machines.
void add_explain_command(Verb app, Console& console);

}  // namespace uvmsim
