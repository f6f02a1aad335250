#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim validate [PATH...]: predicted beside measured.
void add_validate_command(CLI::App& app, Console& console);

}  // namespace uvmsim
