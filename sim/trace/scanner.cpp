#include "trace/scanner.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace uvmsim::trace {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string range_text(Limits limits) {
  if (limits.high == std::numeric_limits<std::int64_t>::max()) return std::to_string(limits.low) + " or more";
  return std::to_string(limits.low) + ".." + std::to_string(limits.high);
}

}  // namespace

char Scanner::peek() {
  while (at_ != end_ && is_space(*at_)) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

bool Scanner::accept(char c) {
  if (peek() != c || at_ == end_) return false;
  ++at_;
  return true;
}

void Scanner::expect(char c) {
  if (!accept(c)) fail(std::string("\"") + c + "\"");
}

std::int64_t Scanner::integer(Limits limits, const char* what) {
  peek();
  const char* const start = at_;
  const bool negative = at_ != end_ && *at_ == '-';
  if (negative) ++at_;
  const char* const digits = at_;
  std::uint64_t magnitude = 0;
  for (; at_ != end_ && is_digit(*at_) && at_ - digits < 19; ++at_)
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(*at_ - '0');
  const bool is_integer = at_ != digits && (*digits != '0' || at_ - digits == 1) &&
                          (at_ == end_ || (*at_ != '.' && *at_ != 'e' && *at_ != 'E'));
  const bool fits = magnitude <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) &&
                    (at_ == end_ || !is_digit(*at_));
  const std::int64_t value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  if (!is_integer || !fits || value < limits.low || value > limits.high) {
    at_ = start;
    fail(std::string(what) + ", an integer " + range_text(limits));
  }
  return value;
}

std::vector<std::int64_t> Scanner::integers(Limits limits, const char* what) {
  std::vector<std::int64_t> values;
  expect('[');
  if (accept(']')) return values;
  do values.push_back(integer(limits, what));
  while (accept(','));
  expect(']');
  return values;
}

std::string_view Scanner::raw_text(const char* what) {
  if (peek() != '"') fail(what);
  const char* const start = ++at_;
  while (at_ != end_ && *at_ != '"') at_ += (*at_ == '\\' && end_ - at_ > 1) ? 2 : 1;
  if (at_ == end_) fail("\"\\\"\", the end of the string");
  return {start, static_cast<std::size_t>(at_++ - start)};
}

std::string Scanner::text(const char* what) {
  const std::string_view raw = raw_text(what);
  const auto is_plain = [](char c) { return c >= ' ' && c < 127 && c != '\\'; };
  if (std::ranges::all_of(raw, is_plain)) return std::string(raw);
  const nlohmann::json value = nlohmann::json::parse(raw.data() - 1, raw.data() + raw.size() + 1, nullptr, false);
  if (!value.is_string()) {
    at_ = raw.data() - 1;
    fail(std::string(what) + " with valid escapes, in UTF-8");
  }
  return value.get<std::string>();
}

bool Scanner::more() {
  if (peek() != ',') {
    if (peek() != ']') fail("\",\" or \"]\"");
    return false;
  }
  const char* const comma = at_++;
  if (peek() != '{') return true;
  at_ = comma;
  return false;
}

void Scanner::skip_number() {
  const auto skip_digits = [this] {
    if (at_ == end_ || !is_digit(*at_)) fail("a digit");
    while (at_ != end_ && is_digit(*at_)) ++at_;
  };
  if (*at_ == '-') ++at_;
  skip_digits();
  if (at_ != end_ && *at_ == '.') ++at_, skip_digits();
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    skip_digits();
  }
}

std::string_view Scanner::skip_value() {
  peek();
  const char* const start = at_;
  std::vector<char> open;  // the brackets still to close
  do {
    const char c = peek();
    if (c == '{' || c == '[') {
      if (open.size() == kDeepest) fail("at most " + std::to_string(kDeepest) + " nested brackets");
      ++at_;
      open.push_back(c == '{' ? '}' : ']');
      if (!accept(open.back())) {
        if (c == '{') raw_text("a key in quotes"), expect(':');
        continue;
      }
      open.pop_back();
    } else if (c == '"') {
      raw_text("a string");
    } else if (is_digit(c) || c == '-') {
      skip_number();
    } else {
      const auto is_word = [this](std::string_view word) {
        return std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) == word;
      };
      if (is_word("true") || is_word("null"))
        at_ += 4;
      else if (is_word("false"))
        at_ += 5;
      else
        fail("a value");
    }
    while (!open.empty() && accept(open.back())) open.pop_back();
    if (!open.empty()) {
      expect(',');
      if (open.back() == '}') raw_text("a key in quotes"), expect(':');
    }
  } while (!open.empty());
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string Scanner::found() {
  if (at_ == end_) return "the end of the line";
  std::string shown;
  for (const char* p = at_; p != end_ && p - at_ < 20; ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (p != at_ && (byte == ',' || byte == ']' || byte == '}')) break;
    if (byte >= ' ' && byte < 127) {
      shown += *p;
      continue;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    shown += "\\x";
    shown += kHex[byte >> 4];
    shown += kHex[byte & 15];
  }
  return shown;
}

void Scanner::fail(const std::string& expected) {
  peek();
  throw ParseError{"column " + std::to_string(at_ - begin_ + 1) + ": expected " + expected + ", found " + found()};
}

}  // namespace uvmsim::trace
