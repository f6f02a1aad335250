// Rows of text in aligned columns.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace uvmsim {

// While it lives, text is for a page of this many columns: tables that are wider come in parts, and what is wrapped is
// wrapped there. Without one, tables are as wide as they get.
class PageWidth {
 public:
  explicit PageWidth(std::size_t columns = std::numeric_limits<std::size_t>::max());
  ~PageWidth();
  PageWidth(const PageWidth&) = delete;
  PageWidth& operator=(const PageWidth&) = delete;

  static std::size_t columns();

 private:
  std::size_t before_;
};

// Cells are printable, and as wide as a terminal shows them. The first column is aligned left, the others right;
// columns are `gap` spaces apart. Lines start with two spaces and end in newlines, without trailing spaces. Rows may be
// of different length. A table that is wider than the page comes in parts, each with the first column and as many of
// the others as fit.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t gap = 2);

// Lines of `text`, printable, that are wider than the page are broken between words. What follows stands below the text
// of the line, behind its label: the words before the first gap of two spaces.
std::string folded(const std::string& text);

// `raw`, printable, in lines of at most `width` characters and the page's, broken between words; each starts with
// `indent`.
std::string wrapped(const std::string& raw, const std::string& indent, std::size_t width);

}  // namespace uvmsim
