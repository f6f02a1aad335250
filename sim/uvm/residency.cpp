#include "uvm/residency.h"

namespace uvmsim {

ResidencyChoice select_residency(const VaBlock& block, std::uint32_t page, ProcessorId faulter, AccessType access,
                                 const Topology& topology, std::optional<ProcessorId> pin, bool counted) {
  const VaPolicy& policy = block.policy;
  const bool duplicated = block.rare && block.rare->read_duplicated.test(page);
  if (policy.read_duplication || (duplicated && !pin)) return {faulter, access <= AccessType::Read};  // 1
  if (policy.preferred_location == faulter) return {faulter};                                         // 2
  if (pin) return {*pin};                                                                             // 3
  const bool reaches_preferred = policy.preferred_location && topology.can_access(faulter, *policy.preferred_location);
  const ProcessorSet holders = block.holders(page);
  if (holders.empty()) return {reaches_preferred ? *policy.preferred_location : faulter};  // 4
  const ProcessorId closest = topology.closest(faulter, holders);
  if (!counted && policy.accessed_by.contains(faulter) && topology.can_access(faulter, closest)) return {closest};  // 5
  // 6 is off by default and 8 is about foreign processes; neither exists here.
  if (closest != faulter && reaches_preferred) return {*policy.preferred_location};  // 7
  return {faulter};                                                                  // 9
}

}  // namespace uvmsim
