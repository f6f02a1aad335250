// Plans on managed memory: the calls a program makes that does what they say.
#pragma once

#include <span>

#include "plan/call_policy.h"
#include "plan/plan.h"

namespace uvmsim {

// The calls of `plan` (calls_of) for device `device` of `trace`, in all iterations of its shape, ready for
// insert_calls. Calls on side streams are held back and waited for by events; those to the host are on one stream, the
// others on a second. Calls at places where their tensor is not allocated are left out.
std::vector<InsertedCall> planned_calls(const trace::Trace& trace, int device, std::span<const Plan> plans);

}  // namespace uvmsim
