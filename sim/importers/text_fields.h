// Fields of text formats: the parts of a line, and numbers in them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/error_list.h"

namespace uvmsim {

// `line` cut at each `separator`; always at least one part. The parts point into it.
inline std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = line.find(separator);
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

// `text` without white space at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// All of `text` as a number; nullopt when it is anything else.
template <class T>
std::optional<T> number_of(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = [&] {
    if constexpr (std::is_floating_point_v<T>)
      return std::from_chars(text.data(), end, value);
    else
      return std::from_chars(text.data(), end, value, base);
  }();
  if (text.empty() || result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

// A pointer as printf's %p and C++ streams write it.
inline std::optional<std::uint64_t> address_in(std::string_view text) {
  if (text == "(nil)" || text == "0") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return number_of<std::uint64_t>(text, 16);
}

// `text` for a message: at most 40 bytes of it, in quotes.
inline std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text.substr(0, 40)) + (text.size() > 40 ? "...\"" : "\"");
}

[[noreturn]] inline void expected(std::string_view what, std::string_view found) {
  throw trace::ParseError{"expected " + std::string(what) + ", found " + in_quotes(found)};
}

}  // namespace uvmsim
