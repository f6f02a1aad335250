// `uvmsim compare`: one workload under several policies.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_compare_command(Verb app, Console& console);

}  // namespace uvmsim
