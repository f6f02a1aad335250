#include "report/table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/printable.h"

namespace uvmsim {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::size_t columns_of_page = std::numeric_limits<std::size_t>::max();

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(printable(row[i])));
  }
  return widths;
}

// The first column and those of `first` .. `outer` - 1, of rows that have any of them.
std::string part(const Rows& rows, const std::vector<std::size_t>& widths, std::size_t first, std::size_t outer,
                 std::size_t gap) {
  std::string text;
  const auto has_cell = [&](const std::vector<std::string>& row) {
    for (std::size_t i = first; i < std::min(outer, row.size()); ++i)
      if (!row[i].empty()) return true;
    return false;
  };
  for (const auto& row : rows) {
    if (first > 1 && !has_cell(row)) continue;
    std::string line = "  ";
    for (std::size_t i = 0; i < std::min(outer, row.size()); i = i == 0 ? first : i + 1) {
      const std::string cell = printable(row[i]);
      const std::string padding(widths[i] - columns_of(cell), ' ');
      line += i == 0 ? cell + padding : std::string(gap, ' ') + padding + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

PageWidth::PageWidth(std::size_t columns) : before_(std::exchange(columns_of_page, columns)) {}
PageWidth::~PageWidth() { columns_of_page = before_; }
std::size_t PageWidth::columns() { return columns_of_page; }

std::string aligned(const Rows& rows, std::size_t gap) {
  const std::vector<std::size_t> widths = widths_of(rows);
  const std::size_t label = 2 + (widths.empty() ? 0 : widths.front());
  std::string text;
  std::size_t first = 1;
  do {
    std::size_t outer = first, width = label;
    while (outer < widths.size() && (outer == first || width + gap + widths[outer] <= columns_of_page))
      width += gap + widths[outer++];
    text += part(rows, widths, first, outer, gap);
    first = outer;
  } while (first < widths.size());
  return text;
}

std::string wrapped(const std::string& raw, const std::string& indent, std::size_t width) {
  const std::string text = printable(raw);
  width = std::min(width, columns_of_page);
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

std::string folded(const std::string& text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (columns_of(line) <= columns_of_page) {
      lines += line + "\n";
      continue;
    }
    const std::size_t label = std::min(line.find_first_not_of(' '), line.size()), gap = line.find("  ", label);
    std::size_t start = gap == std::string::npos ? label : line.find_first_not_of(' ', gap);
    if (start >= columns_of_page / 2) start = label;
    lines += wrapped(line.substr(start), std::string(start, ' '), columns_of_page).replace(0, start, line, 0, start);
  }
  return lines;
}

}  // namespace uvmsim
