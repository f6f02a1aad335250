// `uvmsim trace pool`: memory in use and held over the allocations and frees of a workload.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// Adds the verb to `trace`.
void add_trace_pool(Verb trace, Console& console);

}  // namespace uvmsim
