// The errors of one trace: the first twenty are kept, the rest counted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/user_error.h"

namespace uvmsim::trace {

// Why one line of a trace cannot be used. Thrown by what reads a line, caught by what reads lines.
struct ParseError {
  std::string message;
};

class ErrorList {
 public:
  static constexpr std::size_t kShown = 20;

  void add(std::string place, std::string message) {
    if (shown_.size() < kShown)
      shown_.push_back({std::move(place), std::move(message)});
    else
      ++more_;
  }
  bool empty() const { return shown_.empty(); }
  // True while `add` still keeps what it is given: spares the making of messages that nobody will see.
  bool shows_next() const { return shown_.size() < kShown; }
  void count_one() { ++more_; }

  // The kept errors; the last line says how many more there were.
  std::vector<InputError> errors(const std::string& subject) const {
    std::vector<InputError> all = shown_;
    if (more_ > 0) all.push_back({subject, "and " + std::to_string(more_) + " more"});
    return all;
  }

 private:
  std::vector<InputError> shown_;
  std::int64_t more_ = 0;
};

}  // namespace uvmsim::trace
