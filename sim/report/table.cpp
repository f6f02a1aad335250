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

std::string wrapped(const std::string& raw, const std::string& indent, std::size_t width) {
  const std::string text = printable(raw);
  std::string lines, line = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > width) {
      lines += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
    at = end + 1;
  }
  return lines + line + "\n";
}

}  // namespace uvmsim
