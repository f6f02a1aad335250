// The calls of a trace as plans: what call policies put in, for a program on hardware to repeat.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "trace/record.h"

namespace uvmsim {

// The prefetches, advice and discards of the last iteration of `trace`, those of its own included, as one plan per
// device that has any, by device. Device n is GPU n. `planner`: who made them. A prefetch and an advice stand before
// the next kernel of the device; a discard, and an advice that is taken back, after the one before, because their
// tensor may be freed in between. Calls on a stream without kernels are on a side stream.
std::vector<Plan> plans_of_calls(const trace::Trace& trace, const std::string& planner);

}  // namespace uvmsim
