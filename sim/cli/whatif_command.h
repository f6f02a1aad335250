// `uvmsim whatif`: what each optimisation would gain a workload.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_whatif_command(Verb app, Console& console);

}  // namespace uvmsim
