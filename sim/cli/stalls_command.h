// `uvmsim stalls`: where training waits for its data.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_stalls_command(Verb app, Console& console);

}  // namespace uvmsim
