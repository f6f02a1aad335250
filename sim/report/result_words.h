// What the words of results mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

struct ResultWord {
  std::string word;  // "in core", or a key of the JSON: "summary.totals.fault_groups"
  std::string unit;
  std::string meaning;
};

// The words that people say for `text`, such as "slowdown" or "fault groups", then the keys of `run --json` of that
// name; the singular stands for the plural. Empty: it is no word of results.
std::vector<ResultWord> result_words_like(std::string_view text);

}  // namespace uvmsim
