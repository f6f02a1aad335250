// Where a faulted page should be: the nine rules of section 1.3, first match wins.
//
// Source: uvm_va_block.c: block_select_processor_residency.
#pragma once

#include <optional>

#include "uvm/topology.h"
#include "uvm/va_block.h"

namespace uvmsim {

struct ResidencyChoice {
  ProcessorId to;
  bool duplicate = false;  // the source keeps its copy
  friend bool operator==(const ResidencyChoice&, const ResidencyChoice&) = default;
};

// `pin`: where the thrashing module wants the page. `counted`: no fault asks but an access counter, against which
// the accessed-by set protects nothing.
ResidencyChoice select_residency(const VaBlock& block, std::uint32_t page, ProcessorId faulter, AccessType access,
                                 const Topology& topology, std::optional<ProcessorId> pin, bool counted = false);

}  // namespace uvmsim
