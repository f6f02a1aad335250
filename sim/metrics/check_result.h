// What no run can have: a negative amount of anything.
#pragma once

#include "metrics/result.h"

namespace uvmsim {

// `result` itself. Throws std::logic_error, which names the member by its JSON Pointer, when a time, a count or a size
// of it is negative or no number, or when its iterations take longer than simulated time reaches (kNever). To be called
// where a result is made, so that none that is wrong is printed, kept or compared.
Result checked(Result result);

}  // namespace uvmsim
