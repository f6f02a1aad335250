// How many CTAs of a kernel a multiprocessor runs at once.
#pragma once

#include <cstdint>

#include "machine/machine.h"

namespace uvmsim {

inline constexpr int kWarpThreads = 32;

// CTAs of `threads` threads for which an SM of `gpu` has room: threads, CTAs and, where it is known how many a thread
// takes, registers. At least 1. `registers` 0: not known. Shared memory is left out.
//
// An SM has 64 Ki registers in four parts, and a warp takes a multiple of 256 of one part. Source: CUDA Occupancy
// Calculator (cuda_occupancy.h), compute capabilities 5.0 to 12.0; of 6.0 the parts are two, of 32 Ki.
int resident_ctas(const GpuSpec& gpu, int threads, int registers);

}  // namespace uvmsim
