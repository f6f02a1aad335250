// What a recorded trace knows of the memory that its kernels touch, and whether that is enough for an answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"
#include "trace/record.h"

namespace uvmsim {

// Of the kernels' time, what must have known operands: kernels without touch no memory, so they never wait for any.
inline constexpr double kEnoughOperands = 0.9;

// Of a trace that says how far to trust its operands, as imports do; nullopt for one that a generator made. `gpu`: the
// name of the one that it is to run on.
std::optional<KnownOperands> known_operands(const trace::Trace& trace, const std::string& gpu);

// Whether two names can be of one model: "NVIDIA H100 80GB HBM3" and "H100-SXM-80GB". Names without a model's number
// can.
bool may_be_one_model(std::string_view name, std::string_view other);

}  // namespace uvmsim
