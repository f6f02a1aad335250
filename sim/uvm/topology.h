// Who can access whose memory, and over what: the sets the residency rules ask about.
//
// Source: driver specification, sections 1.3 and 11; uvm_va_space.c: uvm_va_space_register_gpu.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "uvm/processor_set.h"

namespace uvmsim {

class Topology {
 public:
  // GPUs access host memory. The host accesses that of GPUs whose memory is a coherent NUMA node of its own: those with
  // ATS. NVLink and NVLink-C2C to the host are fast links. GPUs joined by NVLink, directly or through NVLink switches
  // only, are peers with a fast link. PCIe peers need enabling and are not peers here.
  explicit Topology(const Machine& machine);

  bool can_access(ProcessorId who, ProcessorId memory) const { return accessible(who).contains(memory); }
  ProcessorSet accessible(ProcessorId who) const { return accessible_[index(who)]; }
  bool fast_link(ProcessorId a, ProcessorId b) const { return fast_[index(a)].contains(b); }
  // Copy engines of one GPU reach the other's memory: else copies are staged through the host.
  bool can_copy(ProcessorId from, ProcessorId to) const { return from.is_cpu() || to.is_cpu() || fast_link(from, to); }
  // The member of `candidates` nearest to `who`: itself, accessible GPUs, the host if accessible, the lowest id.
  // Requires a member. Driver: uvm_processor_mask_find_closest_id, which looks at fast links first; here every
  // accessible GPU has one.
  ProcessorId closest(ProcessorId who, ProcessorSet candidates) const;

 private:
  static std::size_t index(ProcessorId p) { return static_cast<std::size_t>(p.value); }
  std::vector<ProcessorSet> accessible_, fast_;
  ProcessorSet gpus_;
};

}  // namespace uvmsim
