#include "line.h"

#include <charconv>

namespace uvmcap {

namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// Length of the UTF-8 sequence that begins `text`, 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

template <typename List, typename Append>
void append_list(std::string& out, const List& values, Append append) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    append(out, value);
  }
  out += ']';
}

}  // namespace

Line::Line(std::string& out, std::string_view kind) : out_(out) {
  out_ += "{\"k\":";
  append_string(out_, kind);
}

Line::~Line() { out_ += "}\n"; }

void Line::key(std::string_view name) {
  out_ += ",\"";
  out_ += name;
  out_ += "\":";
}

Line& Line::number(std::string_view name, std::uint64_t value) {
  key(name);
  append_number(out_, value);
  return *this;
}

Line& Line::number(std::string_view name, std::int64_t value) {
  key(name);
  append_number(out_, value);
  return *this;
}

Line& Line::numbers(std::string_view name, const std::vector<std::uint64_t>& values) {
  key(name);
  append_list(out_, values, append_number<std::uint64_t>);
  return *this;
}

Line& Line::text(std::string_view name, std::string_view value) {
  key(name);
  append_string(out_, value);
  return *this;
}

Line& Line::texts(std::string_view name, const std::vector<std::string>& values) {
  key(name);
  append_list(out_, values, append_string);
  return *this;
}

}  // namespace uvmcap
