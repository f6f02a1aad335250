// Reads one line of JSON from left to right: arrays and objects of integers and short strings.
//
// A trace is tens of millions of short arrays; building a document for each would cost ten times the reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/error_list.h"
#include "trace/format.h"

namespace uvmsim::trace {

// Every function skips white space first, and throws ParseError with the column where something else stands.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : begin_(line.data()), at_(begin_), end_(begin_ + line.size()) {}

  bool at_end() { return peek() == '\0' && at_ == end_; }
  // The next character that is no white space; '\0' at the end.
  char peek();
  bool accept(char c);
  void expect(char c);

  // An integer in `limits`. `what` names it in the error: "a stream".
  std::int64_t integer(Limits limits, const char* what);
  template <class T>
  void read(T& value, Limits limits, const char* what) {
    value = static_cast<T>(integer(limits, what));
  }
  void read_flag(bool& value, const char* what) { value = integer({0, 1}, what) != 0; }
  // A string, its escapes undone and its UTF-8 checked.
  std::string text(const char* what);
  // The bytes between the quotes, escapes as they stand: enough for tags and keys.
  std::string_view raw_text(const char* what);
  std::vector<std::int64_t> integers(Limits limits, const char* what);

  // In an array, after an element: moves past the comma to the next positional value and returns true;
  // false, and moves nothing, before "]" or a trailing object.
  bool more();
  template <class T>
  void required(T& value, Limits limits, const char* what) {
    if (!more()) fail(what);
    read(value, limits, what);
  }
  template <class T>
  void optional(T& value, Limits limits, const char* what) {
    if (more()) read(value, limits, what);
  }

  // An object. `on_key(key)` reads the value and returns true, or returns false: then the value is skipped.
  template <class OnKey>
  void object(OnKey&& on_key) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string_view key = raw_text("a key in quotes");
      expect(':');
      if (!on_key(key)) skip_value();
    } while (accept(','));
    expect('}');
  }

  // Any JSON value; returns its text. At most kDeepest levels.
  std::string_view skip_value();

  [[noreturn]] void fail(const std::string& expected);

 private:
  void skip_number();
  std::string found();

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace uvmsim::trace
