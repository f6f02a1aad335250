// `uvmsim trace torch`.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_trace_torch(CLI::App& trace, Console& console);

}  // namespace uvmsim
