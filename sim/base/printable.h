// Text that others wrote (names, paths, keys, what a file says), as it may stand in a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace uvmsim {

// `text` on one line, and nothing that a terminal obeys: control characters, what changes the direction of text, and
// bytes that are no UTF-8 as "\n", "\x1b" or "\u202e". Everything else stays as it is, backslashes too.
std::string printable(std::string_view text);

// The same line by line: line ends stay.
std::string printable_lines(std::string_view text);

// The columns that a terminal shows `text` in, which is printable: East Asian wide characters take two, accents that
// combine none (Unicode 15, the blocks that matter).
std::size_t columns_of(std::string_view text);

}  // namespace uvmsim
