// `uvmsim analyse`: views of the memory behaviour of a trace or of the workload of a configuration.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_analyse_command(CLI::App& app, Console& console);

}  // namespace uvmsim
