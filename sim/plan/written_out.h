// Programs that do themselves what a planner would have done to them.
#pragma once

#include <memory>

#include "base/units.h"
#include "plan/planner.h"
#include "trace/record.h"

namespace uvmsim {

// `trace` with the moves and encodings of the plans that `planner` makes where memory is not short, as records of its
// own. A tensor that goes is freed, and allocated again when it comes back.
//
//   Move    a copy to pinned host memory on a stream of its own, after the kernels issued before it or beside its last
//           reader, and a copy back on another; the host joins them at the end of the layer. What comes back on demand
//           is copied before the allocations of its next use, while the host waits.
//   Encode  kernels after its last use and before its next one, which take what the codec says at a memory of
//           `bandwidth`; the encoded tensor lives in between.
//
// UserError, which begins with `name`, when the plans hold neither.
trace::Trace written_out(const trace::Trace& trace, const Planner& planner, BytesPerSecond bandwidth,
                         const std::string& name);

}  // namespace uvmsim
