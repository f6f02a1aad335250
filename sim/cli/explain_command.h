#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim explain KEY: what a key of the configuration means, and its values in the bundled machines.
void add_explain_command(CLI::App& app, Console& console);

}  // namespace uvmsim
