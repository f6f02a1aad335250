#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmcap {

// Builds one JSON object on a line at the end of `out`; the destructor ends it.
class Line {
 public:
  // kind: the value of "k".
  Line(std::string& out, std::string_view kind);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& number(std::string_view key, std::uint64_t value);
  Line& number(std::string_view key, std::int64_t value);
  Line& number(std::string_view key, std::uint32_t value) { return number(key, std::uint64_t{value}); }
  Line& number(std::string_view key, int value) { return number(key, std::int64_t{value}); }
  Line& numbers(std::string_view key, const std::vector<std::uint64_t>& values);
  // Escaped as JSON demands; bytes that are no UTF-8 become U+FFFD.
  Line& text(std::string_view key, std::string_view value);
  Line& texts(std::string_view key, const std::vector<std::string>& values);

 private:
  void key(std::string_view name);

  std::string& out_;
};

}  // namespace uvmcap
