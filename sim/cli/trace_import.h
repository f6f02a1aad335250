// `uvmsim trace import`, `trace cut` and `trace retarget`: traces from other programs' files, parts of traces, and
// traces for other GPUs.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// Adds the verbs to `trace`.
void add_trace_import(Verb trace, Console& console);

}  // namespace uvmsim
