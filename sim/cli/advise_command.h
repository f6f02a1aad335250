// `uvmsim advise`: whether a workload fits in GPU memory, how slow it is if not, and what to change.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_advise_command(CLI::App& app, Console& console);

}  // namespace uvmsim
