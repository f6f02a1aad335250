#include "plan/load_curve.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace uvmsim {

LoadCurve::LoadCurve(const std::vector<std::int64_t>& load)
    : kernels_(static_cast<std::int32_t>(load.size())),
      width_(static_cast<std::int32_t>(std::bit_ceil(std::max<std::size_t>(load.size(), 1)))),
      most_(2 * static_cast<std::size_t>(width_)),
      added_(most_.size()) {
  std::ranges::copy(load, most_.begin() + width_);
  for (std::size_t n = static_cast<std::size_t>(width_) - 1; n > 0; --n)
    most_[n] = std::max(most_[2 * n], most_[2 * n + 1]);
}

void LoadCurve::add(Range where, std::int64_t bytes, Node node) {
  if (node.kernels.apart_from(where)) return;
  std::int64_t& most = most_[node.index];
  if (node.kernels.within(where)) {
    most += bytes;
    added_[node.index] += bytes;
    return;
  }
  add(where, bytes, node.left());
  add(where, bytes, node.right());
  most = std::max(most_[node.left().index], most_[node.right().index]) + added_[node.index];
}

void LoadCurve::free_between(std::int32_t last_use, std::int32_t next_use, std::int64_t bytes) {
  const bool wraps = next_use <= last_use;
  add(last_use + 1, wraps ? kernels_ : next_use, -bytes);
  if (wraps) add(0, next_use, -bytes);
}

std::int64_t LoadCurve::most_between(std::int32_t last_use, std::int32_t next_use) const {
  if (next_use > last_use) return most(last_use + 1, next_use);
  return std::max(most(last_use + 1, kernels_), most(0, next_use));
}

std::int64_t LoadCurve::most(std::int32_t first, std::int32_t outer) const {
  return first < outer ? most({first, outer}, root()) : 0;
}

std::int64_t LoadCurve::most(Range where, Node node) const {
  if (node.kernels.apart_from(where)) return std::numeric_limits<std::int64_t>::min() / 2;
  if (node.kernels.within(where)) return most_[node.index];
  return std::max(most(where, node.left()), most(where, node.right())) + added_[node.index];
}

std::int32_t LoadCurve::over(Range where, std::int64_t limit, Node node, bool last) const {
  if (node.kernels.apart_from(where) || most_[node.index] <= limit) return -1;
  if (node.kernels.outer - node.kernels.first == 1) return node.kernels.first;
  limit -= added_[node.index];
  const std::int32_t found = over(where, limit, last ? node.right() : node.left(), last);
  return found >= 0 ? found : over(where, limit, last ? node.left() : node.right(), last);
}

}  // namespace uvmsim
