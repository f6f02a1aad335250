// What a recorded trace knows of the memory that its kernels touch, and whether that is enough for an answer.
#pragma once

#include <optional>

#include "report/report.h"
#include "trace/record.h"

namespace uvmsim {

// Of the kernels' time, what must have known operands: kernels without touch no memory, so they never wait for any.
inline constexpr double kEnoughOperands = 0.9;

// Of a trace that says how far to trust its operands, as imports do; nullopt for one that a generator made.
std::optional<KnownOperands> known_operands(const trace::Trace& trace);

}  // namespace uvmsim
