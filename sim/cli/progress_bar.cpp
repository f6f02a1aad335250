#include "cli/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

#include "base/printable.h"
#include "cli/terminal.h"

namespace uvmsim {

bool shows_progress() { return isatty(STDERR_FILENO) != 0; }

std::string time_left_text(std::chrono::seconds left) {
  const auto seconds = left.count();
  if (seconds < 60) return std::to_string(seconds) + " s";
  const auto minutes = (seconds + 30) / 60;
  if (minutes < 60) return std::to_string(minutes) + " min";
  const std::string rest = std::to_string(minutes % 60);
  return std::to_string(minutes / 60) + " h " + (rest.size() < 2 ? "0" : "") + rest + " min";
}

void ProgressBar::show(std::optional<double> share, const std::string& detail) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(200);
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  visible_ = true;
  if (!share) {
    std::fprintf(stderr, "\r%s\x1b[K", printable(detail).substr(0, columns - 1).c_str());
    std::fflush(stderr);
    return;
  }
  const double done = std::clamp(*share, 0.0, 1.0);
  const std::size_t width = std::clamp<std::size_t>(columns / 2, 10, 40) - 2;
  std::string bar(static_cast<std::size_t>(done * static_cast<double>(width)), '#');
  bar.resize(width, '.');
  const std::string text =
      " " + std::to_string(static_cast<int>(100 * done)) + " %" + left(done) + ", " + printable(detail);
  const std::size_t room = columns > width + 3 ? columns - width - 3 : 0;  // a full line would begin another
  std::fprintf(stderr, "\r[%s]%s\x1b[K", bar.c_str(), text.substr(0, room).c_str());
  std::fflush(stderr);
}

// ", 40 s left": as long in proportion as what is done took. "" where that says nothing yet.
std::string ProgressBar::left(double share) const {
  constexpr double kLeast = 0.01;
  if (share < kLeast) return "";
  const std::chrono::duration<double> elapsed = Clock::now() - started_;
  const auto seconds = std::llround(elapsed.count() * (1 - share) / share);
  return ", " + time_left_text(std::chrono::seconds(seconds)) + " left";
}

void ProgressBar::erase() {
  if (!visible_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace uvmsim
