#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim config show CONFIG, uvmsim config schema.
void add_config_command(CLI::App& app, Console& console);

}  // namespace uvmsim
