// What kind of memory a range is, and what cudaMemAdvise says about it. Driver: uvm_va_policy_t.
#pragma once

#include <optional>

#include "uvm/processor_set.h"

namespace uvmsim {

struct VaPolicy {
  ProcessorSet accessed_by;
  std::optional<ProcessorId> preferred_location;
  bool read_duplication = false;
  bool system = false;  // from malloc, under ATS: uvm/system_memory.h

  bool is_default() const { return !preferred_location && !read_duplication && accessed_by.empty() && !system; }
  friend bool operator==(const VaPolicy&, const VaPolicy&) = default;
};

}  // namespace uvmsim
