#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim validate [PATH...]: predicted next to measured.
void add_validate_command(Verb app, Console& console);

}  // namespace uvmsim
