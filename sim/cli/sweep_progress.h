// One line on stderr that says how far a sweep is, and when it will be done.
#pragma once

#include <chrono>
#include <string>

#include "study/sweep/run_sweep.h"

namespace uvmsim {

// "1 h 05 min", "12 min", "40 s".
std::string time_left_text(std::chrono::seconds left);

class SweepProgressBar {
 public:
  explicit SweepProgressBar(bool enabled) : enabled_(enabled) {}
  ~SweepProgressBar() { erase(); }
  SweepProgressBar(const SweepProgressBar&) = delete;
  SweepProgressBar& operator=(const SweepProgressBar&) = delete;

  void show(const SweepProgress& progress);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  bool visible_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = Clock::now();
};

}  // namespace uvmsim
