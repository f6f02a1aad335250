// Numbers as people read them. Rounded: for exact text see base/quantity.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace uvmsim {

// Four significant digits in the unit that fits: "19.87 s", "2.212 s", "45 us"; "120.4 GB", "384 KB"; powers of 1000.
std::string seconds_text(double seconds);
inline std::string seconds_text(Duration duration) { return seconds_text(seconds(duration)); }
std::string bytes_text(double bytes);
inline std::string bytes_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
inline std::string bytes_text(Bytes bytes) { return bytes_text(bytes.value); }
// "39.43", "1234", "0.001234": four significant digits, never an exponent between 1e-4 and 1e9.
std::string number_text(double value);
// "1,234,567".
std::string count_text(std::int64_t count);
// "41.2 %" of a fraction.
std::string percent_text(double fraction);

}  // namespace uvmsim
