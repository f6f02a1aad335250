// Lists of words for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

// "a, b, c".
inline std::string joined(const std::vector<std::string>& words, std::string_view between = ", ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

}  // namespace uvmsim
