#include "base/user_error.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"

namespace uvmsim {
namespace {

// "batch" is a part of "batch_size".
bool is_part(std::string_view part, std::string_view word) {
  const std::size_t at = word.find(part);
  if (part.size() < 3 || at == std::string_view::npos) return false;
  const std::size_t outer = at + part.size();
  return (at == 0 || word[at - 1] == '_') && (outer == word.size() || word[outer] == '_');
}

}  // namespace

UserError::UserError(std::string subject, std::vector<InputError> errors) : errors_(std::move(errors)) {
  text_ = printable_lines(subject);
  if (errors_.size() != 1 || !errors_.front().place.empty())
    text_ += ": " + std::to_string(errors_.size()) + (errors_.size() == 1 ? " error" : " errors");
  for (const InputError& f : errors_)
    text_ += (f.place.empty() ? ": " : "\n  " + printable(f.place) + ": ") + printable_lines(f.message);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t substitute = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  // "v100" is the beginning of "v100_pcie_16gb", and no "h200".
  if (best_distance <= 1 || word.size() < 2) return best;
  std::string longer, part;
  for (const std::string& c : candidates) {
    if ((c.starts_with(word) || is_part(word, c)) &&
        (longer.empty() || std::pair(c.size(), c) < std::pair(longer.size(), longer)))
      longer = c;
    if (is_part(c, word) && c.size() > part.size()) part = c;
  }
  if (!longer.empty()) return longer;
  return best.empty() ? part : best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? std::string(otherwise) : "; did you mean \"" + near + "\"?";
}

}  // namespace uvmsim
