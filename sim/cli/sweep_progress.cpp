#include "cli/sweep_progress.h"

#include <cstdio>

namespace uvmsim {

std::string time_left_text(std::chrono::seconds left) {
  const auto seconds = left.count();
  if (seconds < 60) return std::to_string(seconds) + " s";
  const auto minutes = (seconds + 30) / 60;
  if (minutes < 60) return std::to_string(minutes) + " min";
  const std::string rest = std::to_string(minutes % 60);
  return std::to_string(minutes / 60) + " h " + (rest.size() < 2 ? "0" : "") + rest + " min";
}

void SweepProgressBar::show(const SweepProgress& progress) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(500);
  constexpr std::size_t kWidth = 30;
  std::string bar(progress.done * kWidth / progress.all, '#');
  bar.resize(kWidth, '.');
  std::string line = "[" + bar + "] " + std::to_string(progress.done) + "/" + std::to_string(progress.all) +
                     " points, " + std::to_string(progress.running) + " running";
  if (progress.failed > 0) line += ", " + std::to_string(progress.failed) + " failed";
  if (const std::size_t made = progress.done - progress.skipped; made > 0) {
    const std::chrono::duration<double> elapsed = Clock::now() - started_;
    const double left = elapsed.count() / static_cast<double>(made) * static_cast<double>(progress.all - progress.done);
    line += ", " + time_left_text(std::chrono::seconds(static_cast<std::int64_t>(left))) + " left";
  }
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
  visible_ = true;
}

void SweepProgressBar::erase() {
  if (!visible_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace uvmsim
