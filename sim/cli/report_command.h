#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim report PATH... -o FILE: one page of results to look at.
void add_report_command(CLI::App& app, Console& console);

}  // namespace uvmsim
