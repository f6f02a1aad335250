// `uvmsim fit`: whether a workload fits in GPU memory, and the largest batch that does.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_fit_command(Verb app, Console& console);

}  // namespace uvmsim
