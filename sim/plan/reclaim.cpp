#include "plan/reclaim.h"

namespace uvmsim {

std::vector<std::size_t> first_with(std::span<const IdleTensor> idle, std::int64_t bytes) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < idle.size() && bytes > 0; ++i) {
    chosen.push_back(i);
    bytes -= idle[i].bytes;
  }
  return chosen;
}

}  // namespace uvmsim
