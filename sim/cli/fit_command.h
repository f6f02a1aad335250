// `uvmsim fit`: whether a workload fits in GPU memory, and the largest batch that does.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_fit_command(CLI::App& app, Console& console);

}  // namespace uvmsim
