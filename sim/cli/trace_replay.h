// `uvmsim trace replay-script` and `torch-hooks`: a trace, with a plan's calls, as a script for capture/replay; its
// prefetches as hooks of PyTorch's modules.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// Adds the verbs to `trace`.
void add_trace_replay(Verb trace, Console& console);
void add_trace_hooks(Verb trace, Console& console);

}  // namespace uvmsim
