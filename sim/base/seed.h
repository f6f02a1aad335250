// The one seed: whatever a run draws at random, it draws from streams that start here.
#pragma once

#include <cstdint>

namespace uvmsim {

inline constexpr std::uint64_t kSeed = 1;

}  // namespace uvmsim
