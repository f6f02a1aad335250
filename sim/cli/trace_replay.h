// `uvmsim trace replay-script`: a trace, with a plan's calls, as a script for capture/replay.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// Adds the verb to `trace`.
void add_trace_replay(CLI::App& trace, Console& console);

}  // namespace uvmsim
