#include "cli/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "report/number_text.h"

namespace uvmsim {

void ProgressBar::show(double share, Time simulated) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(200);
  constexpr double kWidth = 40;
  const double done = std::clamp(share, 0.0, 1.0);
  std::string bar(static_cast<std::size_t>(done * kWidth), '#');
  bar.resize(static_cast<std::size_t>(kWidth), '.');
  std::fprintf(stderr, "\r[%s] %3.0f %%  %s simulated\x1b[K", bar.c_str(), 100 * done,
               seconds_text(seconds(simulated)).c_str());
  std::fflush(stderr);
  visible_ = true;
}

void ProgressBar::erase() {
  if (!visible_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace uvmsim
