#include "plan/kernel_choice.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/join.h"
#include "base/user_error.h"
#include "plan/kernel_class.h"

namespace uvmsim {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',')
      words.emplace_back();
    else if (c != ' ')
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

bool is_class(const std::string& word) { return std::ranges::find(kKernelClassNames, word) != kKernelClassNames.end(); }

bool chooses(const std::string& word, const std::string& name) {
  if (word == "all") return true;
  if (is_class(word)) return word == kKernelClassNames[static_cast<std::size_t>(class_of_kernel(name))];
  const auto same = [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); };
  const auto found = std::search(name.begin(), name.end(), word.begin(), word.end(),
                                 [&](char in_name, char in_word) { return same(in_word, in_name); });
  return !word.empty() && found != name.end();
}

InputError unknown(const std::string& word) {
  return {"/workload/call_options/operand_prefetch/kernels",
          "\"" + word + "\" is no class of kernels (" + joined(kKernelClassNames, ", ") + ") and in the name of none" +
              did_you_mean(word, kKernelClassNames)};
}

}  // namespace

KernelChoice::KernelChoice(std::string_view text, const trace::Trace& trace) : chosen_(trace.strings.size()) {
  std::set<std::int32_t> names;
  for (const trace::Record& record : trace.records)
    if (const auto* kernel = std::get_if<trace::Kernel>(&record)) names.insert(kernel->name);
  std::vector<InputError> errors;
  for (const std::string& word : words_of(text)) {
    bool any = word == "all" || is_class(word);
    for (const std::int32_t name : names) {
      const auto at = static_cast<std::size_t>(name);
      if (!chooses(word, trace.strings[at])) continue;
      any = chosen_[at] = true;
    }
    if (!any) errors.push_back(unknown(word));
  }
  if (!errors.empty()) throw UserError(trace.header.name, std::move(errors));
}

}  // namespace uvmsim
