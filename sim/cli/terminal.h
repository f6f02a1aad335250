// The terminal that the program writes to.
#pragma once

#include <cstddef>

namespace uvmsim {

// Whether what is written to that open file may have colour: it is a terminal that can show it, and NO_COLOR is not
// set.
bool wants_colour(int file);

// How wide that terminal is: 100 columns where it is none, or does not say.
std::size_t terminal_columns(int file);

}  // namespace uvmsim
