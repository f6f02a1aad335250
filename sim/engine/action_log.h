// What each action of a plan cost: how long streams or the host waited for its copies, and how late these were.
#pragma once

#include <vector>

#include "metrics/result.h"

namespace uvmsim {

// Of all plans of a process, by Program::plan_actions.
class ActionLog {
 public:
  explicit ActionLog(std::size_t actions) : outcomes_(actions) {}

  // The program waited from `begin` to `end` for a copy of the action.
  void waited(std::int32_t action, Time begin, Time end);
  // A copy of the action brought a tensor in at `arrived`; its first user came to it at `needed`.
  void arrived(std::int32_t action, Time arrived, Time needed);
  const std::vector<ActionOutcome>& outcomes() const { return outcomes_; }

 private:
  std::vector<ActionOutcome> outcomes_;
};

}  // namespace uvmsim
