// `uvmsim analyse`: views of the memory behaviour of a trace or of the workload of a configuration.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_analyse_command(Verb app, Console& console);

}  // namespace uvmsim
