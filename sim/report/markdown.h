// Tables in Markdown.
#pragma once

#include <string>
#include <vector>

namespace uvmsim {

// One line of a table; bars in cells are escaped.
std::string markdown_row(const std::vector<std::string>& cells);
// The first two.
std::string markdown_header(const std::vector<std::string>& cells);

}  // namespace uvmsim
