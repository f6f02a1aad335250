// `uvmsim stalls`: where training waits for its data.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_stalls_command(CLI::App& app, Console& console);

}  // namespace uvmsim
