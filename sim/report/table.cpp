#include "report/table.h"

#include <algorithm>

#include "base/printable.h"

namespace uvmsim {

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t gap) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(printable(row[i])));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(row[i]);
      const std::string padding(widths[i] - columns_of(cell), ' ');
      line += i == 0 ? cell + padding : std::string(gap, ' ') + padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace uvmsim
