// `uvmsim whatif`: what each optimisation would gain a workload.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_whatif_command(CLI::App& app, Console& console);

}  // namespace uvmsim
