#pragma once

#include <cupti.h>
#include <vector>

#include "recorder.h"

namespace uvmcap {

// Registers the buffers through which CUPTI hands over the GPU's records and switches on what `kinds` ask for. A kind
// that is refused becomes a note. `recorder` outlives the process's use of CUPTI.
void start_activities(Recorder& recorder, const std::vector<std::string>& kinds);

// The unified-memory counters; to be called once the driver is initialized, not before.
void start_unified_memory(Recorder& recorder);

// Fetches what is complete, or everything.
void flush_activities(bool everything);

// What CUPTI calls a result.
std::string result_text(CUptiResult result);

}  // namespace uvmcap
