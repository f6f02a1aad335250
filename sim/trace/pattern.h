// What an access of a pattern does to the bytes it names.
#pragma once

#include <cstdint>

#include "trace/record.h"

namespace uvmsim::trace {

// Whether an access with this pattern touches all bytes of its range, not just places in it: a write then leaves
// nothing of what was there.
bool covers_its_range(Pattern pattern);

// Whether `access` touches all bytes of a tensor of `tensor_bytes`: its range is the whole tensor, and its pattern
// covers it. With Mode::Write the tensor's old contents are dead.
bool covers_its_range(const Access& access, std::int64_t tensor_bytes);

}  // namespace uvmsim::trace
