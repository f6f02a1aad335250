// Sizes that tests speak in.
#pragma once

#include <cstdint>

namespace uvmsim {

inline constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = std::int64_t{1} << 30;

}  // namespace uvmsim
