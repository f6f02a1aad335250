// The simulated clock, for actors.
#pragma once

#include "base/units.h"
#include "engine/scheduler.h"

namespace uvmsim {

inline Time now() { return scheduler().now(); }

// Blocks the calling actor until `t`; returns at once when that is not in the future.
inline void sleep_until(Time t) {
  if (t > now()) scheduler().wait_until(t);
}

}  // namespace uvmsim
