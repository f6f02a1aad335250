// Data-parallel training: the replicas agree on their gradients.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// `trace` with one all-reduce at the end of each iteration, over every weight gradient (kind "wgrad") that is live
// there, on the stream of the iteration's last kernel. UserError when an iteration ends without any.
trace::Trace sync_gradients(const trace::Trace& trace);

}  // namespace uvmsim
