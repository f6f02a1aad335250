// Makes a long trace of a short one.
#pragma once

#include "trace/record.h"

namespace uvmsim {

// `trace` with exactly `iterations` iterations: cut after the last one wanted, or with its last iteration
// repeated. What follows the last Iteration record belongs to the last iteration.
//
// A repeated iteration allocates under new ids. A tensor that lives across the boundary (a language model's
// `output`, held through the next forward pass) is freed in the copy after the one that allocated it: the
// tensors that the last iteration takes over and frees must be, in the order of their allocation, like those
// that it leaves behind (size, kind, device, stream, space).
//
// A trace that marks no iteration is one, as a whole, when one is wanted.
//
// UserError when it marks none and more are wanted, when the last one is not periodic in that sense, or when it
// records driver-level segments, whose placement cannot be repeated.
trace::Trace repeat_last_iteration(const trace::Trace& trace, int iterations);

}  // namespace uvmsim
