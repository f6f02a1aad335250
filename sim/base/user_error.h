// The user's errors: everything wrong with a config, trace or flag, collected so that one run shows all.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

// One error. `place` is a JSON Pointer ("/driver/uvm_perf_prefetch_threshold") or "file:line".
struct InputError {
  std::string place;
  std::string message;  // what is wrong, what was expected, and a "did you mean" where one is near
};

// Thrown at the edges only (config, trace, cli); caught once, in main: printed on stderr, exit 2.
class UserError : public std::exception {
 public:
  UserError(std::string subject, std::vector<InputError> errors);
  UserError(std::string subject, std::string message) : UserError(std::move(subject), {{"", std::move(message)}}) {}

  const char* what() const noexcept override { return text_.c_str(); }
  const std::vector<InputError>& errors() const { return errors_; }

 private:
  std::vector<InputError> errors_;
  std::string text_;
};

// The candidate nearest to `word` by edit distance, or "" when none is near enough to suggest.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// The end of a message about `word`: "; did you mean "resnet50"?" with the candidate nearest to it, or `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string_view otherwise = "");

}  // namespace uvmsim
