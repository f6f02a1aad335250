// One line on stderr that says how far a command is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace uvmsim {

// Whether stderr is a terminal, so that a progress bar may be shown there.
bool shows_progress();

// "40 s", "12 min" or "2 h 05 min".
std::string time_left_text(std::chrono::seconds left);

// Shows nothing while a command may be short, and then a few times a second.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressBar(bool enabled, std::chrono::seconds quiet = std::chrono::seconds(1),
                       Clock::time_point started = Clock::now())
      : enabled_(enabled), started_(started), next_(started_ + quiet) {}
  ~ProgressBar() { erase(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `share` of the work is done, 0..1; nullopt: nobody knows. `detail` says what that is, and is cut where the terminal
  // ends.
  void show(std::optional<double> share, const std::string& detail);
  void erase();

 private:
  std::string left(double share) const;

  bool enabled_;
  bool visible_ = false;
  Clock::time_point started_;
  Clock::time_point next_;
};

}  // namespace uvmsim
