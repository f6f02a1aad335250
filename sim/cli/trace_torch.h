// `uvmsim trace torch`.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_trace_torch(Verb trace, Console& console);

}  // namespace uvmsim
