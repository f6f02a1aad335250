// The families of kernel programs, one file each: a family makes the programs of kernels with operands of its patterns.
// An access pattern that is new is one file here; it registers the pattern (trace/pattern.h) and its family.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gpu/kernel_program.h"

namespace uvmsim {

using Options = std::span<const trace::PatternOptions>;
using Operands = std::span<const Operand>;

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct ProgramFamily {
  // Of the families that some operand of a kernel asks for, the one with the highest makes its program.
  int precedence = 0;
  // Whether a managed operand asks for this family.
  bool (*takes)(const Operand& operand, Options options) = nullptr;
  // The program of a kernel with such an operand. It sweeps the operands that the family does not take.
  std::unique_ptr<KernelProgram> (*make)(LaunchShape shape, Operands operands, Options options) = nullptr;
};
bool add_program_family(const ProgramFamily& family);

// ProgramFamily::takes of a family that takes all operands of these patterns.
template <trace::Pattern... kPatterns>
bool has_pattern(const Operand& operand, Options) {
  return ((operand.pattern == kPatterns) || ...);
}

// Bytes that a thread touches in one place.
inline std::int64_t bytes_of_touch(const trace::PatternOptions& options) {
  return options.width > 0 ? options.width : options.element_bytes;
}

// In which of a CTA's loads each operand is read. Those of one load are issued together, the next one when they are all
// there; an operand that is `dependent` begins the next one. Operands that are not managed are always there.
class LoadOrder {
 public:
  LoadOrder(Operands operands, Options options);
  int of(const Operand& operand) const { return loads_[static_cast<std::size_t>(&operand - first_)]; }  // of the list

 private:
  const Operand* first_ = nullptr;
  std::vector<int> loads_;
};

// The program of a kernel that no family is asked for: slices in lock-step (programs/sweep.cpp).
std::unique_ptr<KernelProgram> make_sweep_program(LaunchShape, Operands, Options);

// The first of the bytes [from, to) behind `address` on a page whose access faults now; `to` when there is none.
inline std::int64_t next_missing_byte(VirtualAddress address, std::int64_t from, std::int64_t to, bool write,
                                      const PageTable& pages) {
  if (from >= to) return to;
  const PageNumber first = page_of(address + static_cast<VirtualAddress>(from));
  const PageNumber outer = page_of(address + static_cast<VirtualAddress>(to) - 1) + 1;
  const PageNumber missing = pages.next_fault(first, outer, write);
  if (missing == outer) return to;
  return missing == first ? from : static_cast<std::int64_t>(address_of(missing) - address);
}

// Whether every page of the operand is granted as the operand needs it.
bool operand_granted(const Operand& operand, const PageTable& pages);

}  // namespace uvmsim
