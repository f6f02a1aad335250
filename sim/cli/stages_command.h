// `uvmsim stages`: configurations one after the other, as the stages of one program.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_stages_command(CLI::App& app, Console& console);

}  // namespace uvmsim
