#include "engine/action_log.h"

#include <algorithm>

namespace uvmsim {

void ActionLog::waited(std::int32_t action, Time begin, Time end) {
  if (action >= 0) outcomes_[static_cast<std::size_t>(action)].stall_s += seconds(end - begin);
}

void ActionLog::arrived(std::int32_t action, Time arrived, Time needed) {
  if (action < 0) return;
  ActionOutcome& outcome = outcomes_[static_cast<std::size_t>(action)];
  const double late = seconds(arrived) - seconds(needed);
  outcome.lateness_s = outcome.used ? std::max(outcome.lateness_s, late) : late;
  outcome.used = true;
}

}  // namespace uvmsim
