// Operands that a kernel sweeps from start to end, all in lock-step.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/kernel_program.h"

namespace uvmsim {

// The sweeping operands of a kernel, cut into `units` equal slices: unit u touches slice u of each.
// Reads are issued first; writes depend on them.
class SweepSet {
 public:
  struct Part {
    VirtualAddress address = 0;
    std::int64_t bytes = 0;
    std::int64_t slice = 1;            // bytes per unit
    std::int64_t broadcast_pages = 0;  // > 0: unit u touches page u mod this instead
    std::int64_t units = 0;            // units of one pass
    int passes = 1;
    bool read = false, write = false;
  };

  SweepSet() = default;
  // `warps`: of the CTA that touches a unit.
  SweepSet(std::span<const Operand> operands, std::int64_t units, int warps);

  bool empty() const { return parts_.empty(); }
  bool any_read() const { return any_read_; }
  bool any_write() const { return any_write_; }

  // Appends the touches of unit `unit` in pass `pass`: the loads, or the dependent stores.
  void loads(std::int64_t unit, int pass, std::vector<Touch>& touches) const { append(unit, pass, false, touches); }
  void stores(std::int64_t unit, int pass, std::vector<Touch>& touches) const { append(unit, pass, true, touches); }

  bool all_granted(const PageTable& pages) const;
  // Adds what goes to remote pages. A warp accesses its part of a slice, a line at most; what all CTAs read stays in
  // the L1 of each SM.
  void add_remote_access(const PageTable& pages, int sms, RemoteAccess& access) const;
  // As KernelProgram::next_stall, over units [from, units) of pass `pass`.
  StallRun next_stall(std::int64_t from, std::int64_t units, int pass, const PageTable& pages) const;

 private:
  void append(std::int64_t unit, int pass, bool write, std::vector<Touch>& touches) const;

  std::vector<Part> parts_;
  int warps_ = 1;
  bool any_read_ = false, any_write_ = false;
};

// Adds a touch unless the step already has one of the page; then the stronger of both stays.
void add_touch(std::vector<Touch>& touches, Touch touch);

}  // namespace uvmsim
