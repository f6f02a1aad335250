// The course of a run as JSON: observations.json of a result folder, and what `uvmsim report` draws.
#pragma once

#include <string>

#include "observe/observations.h"

namespace uvmsim {

// One object in one line, ending in a newline. Times in seconds from the start of the run; series as lists of means
// and peaks, `step_s` apart, to five significant digits. At most 40 kernels and 40 tensors, the most stalled; what the
// others add up to stands next to them.
std::string to_json(const Observations& observations);

}  // namespace uvmsim
