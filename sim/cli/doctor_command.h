#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim doctor: what this program finds on this machine.
void add_doctor_command(CLI::App& app, Console& console);

}  // namespace uvmsim
