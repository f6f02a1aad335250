// When the kernels of an iteration start: in the order of issue, which plans count in, and in time. The two orders are
// one where all kernels are on one stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace uvmsim {

class KernelStarts {
 public:
  KernelStarts() = default;
  explicit KernelStarts(std::vector<Time> starts);  // by kernel, since the iteration's begin

  std::size_t size() const { return starts_.size(); }
  Time operator[](std::int32_t kernel) const { return starts_[static_cast<std::size_t>(kernel)]; }
  const std::vector<Time>& all() const { return starts_; }

  // The kernels, the one that starts first in front; of equals the one issued first.
  std::span<const std::int32_t> in_time() const { return in_time_; }
  // Where `kernel` stands there.
  std::int32_t place_of(std::int32_t kernel) const { return place_[static_cast<std::size_t>(kernel)]; }

  // The first kernel from which on, in the order of issue, none starts before `at`; size(): the last one does.
  std::int32_t first_from(Time at) const;
  // The last kernel up to which, in the order of issue, all have started by `at`; -1: the first one has not.
  std::int32_t last_until(Time at) const;
  // When `kernel` and all that are issued before it have started. Ascends.
  Time reached(std::int32_t kernel) const { return reached_[static_cast<std::size_t>(kernel)]; }

 private:
  std::vector<Time> starts_, reached_;
  std::vector<Time> ahead_;  // of each kernel: the first start of it and those issued after it; ascends
  std::vector<std::int32_t> in_time_, place_;
};

}  // namespace uvmsim
