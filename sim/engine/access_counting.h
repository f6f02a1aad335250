// What the access counters of a GPU count of a running kernel.
#pragma once

#include <span>

#include "engine/gpu_device.h"

namespace uvmsim {

// The accesses of one kernel to memory that its GPU maps remotely: those to an operand go from its first page to its
// last, all operands in step (assumed).
class AccessCounting {
 public:
  // `operands`: of a kernel on `gpu`, in a VA space. `remote`: some of what it accesses is, so that it is counted as it
  // goes.
  AccessCounting(GpuDevice& gpu, int va_space, std::span<const Operand> operands, bool remote);

  // The kernel has done `share` of its accesses. Whether that is news to the counters.
  bool count(double share);
  // When it has done how much of them a counter may notify the driver, beyond what was counted. From 1 on: at its end.
  double next_share() const;

 private:
  void find_largest(const DriverConfig& driver);
  void count(const Operand& operand, PageNumber first, PageNumber outer);

  GpuDevice& gpu_;
  int va_space_;
  std::span<const Operand> operands_;  // none: the GPU counts nothing
  double counted_ = 0;
  // Of the largest operand: its pages (0: counted at the end only); those of them that one counter watches; and how
  // many of these until it notifies.
  double pages_ = 0, watched_ = 1, until_notified_ = 1;
};

}  // namespace uvmsim
