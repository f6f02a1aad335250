// Programs under plans, on explicit memory.
#pragma once

#include <vector>

#include "memory/allocator.h"
#include "plan/lower.h"

namespace uvmsim {

inline Program under_plans(const trace::Trace& trace, const std::vector<Plan>& plans) {
  const trace::Trace explicit_trace = as_explicit_memory(trace);
  Program placed =
      place(explicit_trace, {.allocator = "none", .memory = "device", .keep_tensors = true, .kind = nullptr});
  return lower(std::move(placed), explicit_trace, plans);
}

}  // namespace uvmsim
