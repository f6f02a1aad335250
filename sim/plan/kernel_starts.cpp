#include "plan/kernel_starts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace uvmsim {

KernelStarts::KernelStarts(std::vector<Time> starts)
    : starts_(std::move(starts)), reached_(starts_), ahead_(starts_), in_time_(starts_.size()), place_(starts_.size()) {
  for (std::size_t k = 1; k < size(); ++k) reached_[k] = std::max(reached_[k], reached_[k - 1]);
  for (std::size_t k = size(); k-- > 1;) ahead_[k - 1] = std::min(ahead_[k - 1], ahead_[k]);
  std::iota(in_time_.begin(), in_time_.end(), 0);
  std::ranges::stable_sort(in_time_, {}, [&](std::int32_t k) { return (*this)[k]; });
  for (std::size_t p = 0; p < size(); ++p) place_[static_cast<std::size_t>(in_time_[p])] = static_cast<std::int32_t>(p);
}

std::int32_t KernelStarts::first_from(Time at) const {
  return static_cast<std::int32_t>(std::ranges::lower_bound(ahead_, at) - ahead_.begin());
}

std::int32_t KernelStarts::last_until(Time at) const {
  return static_cast<std::int32_t>(std::ranges::upper_bound(reached_, at) - reached_.begin()) - 1;
}

}  // namespace uvmsim
