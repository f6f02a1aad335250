// Gives a trace the time of a measured iteration.
#pragma once

#include "base/units.h"
#include "trace/record.h"

namespace uvmsim {

// Multiplies every kernel duration by one factor, so that the kernels of the last iteration (the steady one; all
// devices together) take `iteration`, to the nanosecond. Rounding is carried from kernel to kernel, so no sum
// over consecutive kernels is off by more than 1 ns. Header::durations and its status say what was done.
// UserError when the last iteration has no kernel time, or `iteration` is not at least 1 ns.
void scale_durations(trace::Trace& trace, Duration iteration);

}  // namespace uvmsim
