// What the collectives of a trace mean together, for a run whose devices are known.
#pragma once

#include <string>
#include <vector>

#include "trace/record.h"

namespace uvmsim::trace {

// What would never end, or has no meaning, when `replicas` processes run `trace` on GPUs of their own (1: one process
// runs it on all its devices): FORMAT.md, "Communicators". One sentence each; empty when all is well. Sends and
// receives that meet in another order than their streams reach them are not seen here: such a run ends in a deadlock.
std::vector<std::string> collective_errors(const Trace& trace, int replicas);

}  // namespace uvmsim::trace
