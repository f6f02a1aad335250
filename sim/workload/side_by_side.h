// A program of several devices, several times.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// `trace`, issued `width` times side by side: what runs on device d of n runs on devices d, n + d, 2 n + d, ...
// Tensors, streams and events are each one's own; collectives but sends and receives are of all together, by their
// communicators. They share the host: a launch takes it 1/width of its time, and a step of the host without operands is
// one for all.
trace::Trace side_by_side(const trace::Trace& trace, int width);

}  // namespace uvmsim
