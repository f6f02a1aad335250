#include "cli/planning_bar.h"

#include <cstdio>
#include <optional>
#include <thread>

#include "cli/progress_bar.h"

namespace uvmsim {
namespace {

// A bar for each step, so that the time left is that of the step; until this process is killed.
[[noreturn]] void paint(const PlanningProgress& progress) {
  using namespace std::chrono_literals;
  std::this_thread::sleep_for(1s);
  std::optional<ProgressBar> bar;
  for (std::optional<int> number;; std::this_thread::sleep_for(200ms)) {
    const PlanningProgress::Shown shown = progress.shown();
    if (number != shown.number) bar.emplace(true, 0s, shown.since);
    number = shown.number;
    bar->show(shown.share, shown.text);
  }
}

}  // namespace

PlanningBar::PlanningBar(bool enabled) {
  if (enabled) painter_ = std::make_unique<ChildProcess>([this]() -> std::string { paint(*progress_); });
}

void PlanningBar::stop() {
  if (!painter_) return;
  painter_.reset();
  std::fputs("\r\x1b[K", stderr);
}

}  // namespace uvmsim
