// What cudaMemAdvise says about a range. Driver: uvm_va_policy_t.
#pragma once

#include <optional>

#include "uvm/processor_set.h"

namespace uvmsim {

struct VaPolicy {
  ProcessorSet accessed_by;
  std::optional<ProcessorId> preferred_location;
  bool read_duplication = false;

  bool is_default() const { return !preferred_location && !read_duplication && accessed_by.empty(); }
  friend bool operator==(const VaPolicy&, const VaPolicy&) = default;
};

}  // namespace uvmsim
