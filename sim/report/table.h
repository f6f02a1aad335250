// Rows of text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace uvmsim {

// Cells are printable, and as wide as a terminal shows them. The first column is aligned left, the others right;
// columns are `gap` spaces apart. Lines start with two spaces and end in newlines, without trailing spaces. Rows may be
// of different length.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t gap = 2);

// `raw`, printable, in lines of at most `width` characters, broken between words; each starts with `indent`.
std::string wrapped(const std::string& raw, const std::string& indent, std::size_t width);

}  // namespace uvmsim
