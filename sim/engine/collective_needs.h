// How long the sums of a program may wait.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "memory/program.h"

namespace uvmsim {

// Of each collective of `program` that a kernel waits for, on its stream or by an event: the kernels of its device that
// are issued after it and before that one. Looked up, never walked.
std::unordered_map<const op::Collective*, std::int64_t> kernels_before_need(const Program& program);

}  // namespace uvmsim
