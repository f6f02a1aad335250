#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim trace info FILE, trace check FILE..., trace convert IN OUT, trace gen NAME -o OUT, and the verbs of
// trace_import.h and trace_pool.h.
void add_trace_command(Verb app, Console& console);

}  // namespace uvmsim
