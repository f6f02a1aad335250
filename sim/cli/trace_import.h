// `uvmsim trace import`, `trace cut` and `trace retarget`: traces from other programs' files, parts of traces, and
// traces for other GPUs.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// Adds the verbs to `trace`.
void add_trace_import(CLI::App& trace, Console& console);

}  // namespace uvmsim
