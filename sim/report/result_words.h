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

// The terms in tables that are or end in `text`, such as "slowdown" or "groups", then the keys of `run --json` of that
// name; singular and plural are the same. Empty: no result has such a term.
std::vector<ResultWord> result_words_like(std::string_view text);

}  // namespace uvmsim
