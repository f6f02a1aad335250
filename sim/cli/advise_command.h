// `uvmsim advise`: whether a workload fits in GPU memory, how slow it is if not, and what to change.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_advise_command(Verb app, Console& console);

}  // namespace uvmsim
