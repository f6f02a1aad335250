#include "study/planning_progress.h"

#include <algorithm>
#include <fmt/format.h>

namespace uvmsim {

void PlanningProgress::begin(Step step, double all) {
  step_ = step;
  since_ = Clock::now();
  all_ = all;
  work_ = 0;
  ended_ = 0;
  ++number_;
}

std::function<void(double, Time)> PlanningProgress::told() {
  return [this, told = 0.0](double share, Time) mutable {
    simulated(share - told);
    told = share;
  };
}

PlanningProgress::Shown PlanningProgress::shown() const {
  const auto seconds_since = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  const double all = std::max(all_.load(), 1.0);
  Shown shown{.number = number_, .since = since_};
  switch (step_.load()) {
    case Step::Planner:
      shown.text = fmt::format("planning for {:.0f} s", seconds_since(started_));
      break;
    case Step::Solver:
      shown.share = seconds_since(since_) / all;
      shown.text = fmt::format("cbc: {:.0f} s, at most {:.0f} s of processor time", seconds_since(since_), all);
      break;
    case Step::Simulations:
      shown.share = work_ / all;
      shown.text = fmt::format("planning: {}/{} simulations, {} in all", ended_.load(), all, ended_in_all_.load());
      break;
  }
  return shown;
}

}  // namespace uvmsim
