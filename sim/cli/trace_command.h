#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim trace info FILE, trace check FILE..., trace convert IN OUT, trace gen NAME -o OUT, and the verbs of
// trace_import.h and trace_pool.h.
void add_trace_command(CLI::App& app, Console& console);

}  // namespace uvmsim
