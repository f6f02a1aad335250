// What the making of plans waits for: noted by the process that makes them, shown by another one (shared_object.h).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/units.h"

namespace uvmsim {

class PlanningProgress {
 public:
  using Clock = std::chrono::steady_clock;

  // While it lives, the planner waits; then it works itself again.
  class Waiting {
   public:
    explicit Waiting(PlanningProgress& progress) : progress_(progress) {}
    ~Waiting() { progress_.begin(Step::Planner, 0); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PlanningProgress& progress_;
  };
  // For CBC, `limit_s` of processor time at most; for `count` simulations.
  [[nodiscard]] Waiting solve(double limit_s) { return begin(Step::Solver, limit_s), Waiting(*this); }
  [[nodiscard]] Waiting simulate(int count) { return begin(Step::Simulations, count), Waiting(*this); }
  // Of the simulations: one has come `share` further; one has ended. Their own processes may call it.
  void simulated(double share) { work_ += share; }
  void simulation_ended() { ++ended_, ++ended_in_all_; }
  // Calls the first for one simulation, as RunOptions::progress.
  std::function<void(double, Time)> told();

  // The step that began last: which one, since when, how far it is, 0..1 (nullopt: nobody knows), and what it does.
  struct Shown {
    int number = 0;
    Clock::time_point since{};
    std::optional<double> share{};
    std::string text{};
  };
  Shown shown() const;

 private:
  enum class Step : int { Planner, Solver, Simulations };
  void begin(Step step, double all);

  const Clock::time_point started_ = Clock::now();
  std::atomic<Step> step_ = Step::Planner;
  std::atomic<int> number_ = 0, ended_ = 0, ended_in_all_ = 0;
  std::atomic<Clock::time_point> since_ = started_;  // when the step began
  std::atomic<double> all_ = 0;                      // of the step: the limit in seconds, the simulations
  std::atomic<double> work_ = 0;                     // of the step: simulations, with what is done of those that run
};

}  // namespace uvmsim
