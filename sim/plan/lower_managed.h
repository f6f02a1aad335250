// Plans on managed memory: the calls a program makes that does what they say. The second lowering of a plan (lower.h).
#pragma once

#include <span>

#include "plan/call_policy.h"
#include "plan/plan.h"

namespace uvmsim {

// The calls that do to managed memory what the plan does to explicit memory, after `plan.calls`' own at their places: a
// move becomes two prefetches, to the host and back, on side streams, a drop a discard. The other actions have none:
// why_not_managed says so.
std::vector<Call> calls_of(const Plan& plan);

// Why the action cannot be done on managed memory; "": it can.
std::string why_not_managed(const Action& action);

// The calls of `plans` (calls_of) for device `device` of `trace`, in all iterations of their shapes, ready for
// insert_calls. Calls on side streams are held back and waited for by events; those to the host are on one stream, the
// others on a second. Calls at places where their tensor is not allocated are left out.
std::vector<InsertedCall> lower_managed(const trace::Trace& trace, DeviceOrdinal device, std::span<const Plan> plans);

}  // namespace uvmsim
