#include "base/printable.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace uvmsim {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// The one that `text` begins with (RFC 3629). `text` is not empty.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 1, false};
  std::uint32_t value = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return {lead, 1, false};
  return {value, bytes, true};
}

bool is_within(std::uint32_t value, std::uint32_t first, std::uint32_t last) { return value >= first && value <= last; }

// What a terminal does instead of showing it: controls, line and paragraph separators, directions.
bool is_obeyed(std::uint32_t value) {
  return value < 0x20 || is_within(value, 0x7f, 0x9f) || is_within(value, 0x200e, 0x200f) ||
         is_within(value, 0x2028, 0x202e) || is_within(value, 0x2066, 0x2069);
}

std::string escaped(CodePoint point) {
  if (point.valid && point.value == '\n') return "\\n";
  if (point.valid && point.value == '\t') return "\\t";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), point.value > 0xff ? "\\u%04x" : "\\x%02x", point.value);
  return text.data();
}

std::size_t width_of(std::uint32_t value) {
  if (is_within(value, 0x300, 0x36f) || is_within(value, 0x200b, 0x200d) || is_within(value, 0xfe00, 0xfe0f)) return 0;
  const bool wide = is_within(value, 0x1100, 0x115f) || is_within(value, 0x2e80, 0xa4cf) ||
                    is_within(value, 0xac00, 0xd7a3) || is_within(value, 0xf900, 0xfaff) ||
                    is_within(value, 0xfe30, 0xfe6f) || is_within(value, 0xff00, 0xff60) ||
                    is_within(value, 0x1f300, 0x1faff) || is_within(value, 0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

std::string without_controls(std::string_view text, bool keeps_lines) {
  std::string shown;
  for (CodePoint point; !text.empty(); text.remove_prefix(point.bytes)) {
    point = first_of(text);
    const bool stays = point.valid && (!is_obeyed(point.value) || (keeps_lines && point.value == '\n'));
    shown += stays ? std::string(text.substr(0, point.bytes)) : escaped(point);
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) { return without_controls(text, false); }

std::string printable_lines(std::string_view text) { return without_controls(text, true); }

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (CodePoint point; !text.empty(); text.remove_prefix(point.bytes)) {
    point = first_of(text);
    columns += width_of(point.value);
  }
  return columns;
}

}  // namespace uvmsim
