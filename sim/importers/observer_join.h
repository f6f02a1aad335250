// Joins an ExecutionTraceObserver's file to a Kineto file that gives no record function ids (PyTorch before 2.2).
#pragma once

#include <vector>

#include "importers/execution_trace.h"
#include "importers/kineto_events.h"

namespace uvmsim {

// Gives operators of `events` the record function ids of `observed`, which is in the order of these. A thread that the
// observer saw is the one thread on which the names of its operators occur one after the other, once in the file.
// Returns how many observed threads were found.
int join_by_order(const std::vector<ObservedOperator>& observed, KinetoEvents& events);

}  // namespace uvmsim
