// A part of a trace as a trace of its own.
#pragma once

#include <cstdint>

#include "trace/record.h"

namespace uvmsim {

// The iterations `first` up to but without `end` of `trace`, counted from 0 in the order of the file; their Iteration
// records keep their indices. What is alive when they begin (tensors, driver segments) is allocated in set-up, in
// the order in which it was; advice on such tensors stays. Waits for events that were recorded before have been met and
// are gone. The header's provenance says what was cut.
// UserError when the trace has fewer iterations.
trace::Trace cut_iterations(const trace::Trace& trace, std::int64_t first, std::int64_t end);

}  // namespace uvmsim
