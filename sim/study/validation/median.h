// The middle of some values.
#pragma once

#include <algorithm>
#include <vector>

namespace uvmsim {

// Of one value at least; of an even number of values the mean of the two in the middle.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace uvmsim
