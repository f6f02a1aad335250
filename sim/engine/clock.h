// SimGrid's clock is a double in seconds; ours counts integer picoseconds. Both meet only here.
#pragma once

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>

#include "base/units.h"

namespace uvmsim {

// The latest time that a sleep was to last to: SimGrid may wake an actor its precision (1 ps) early.
inline Time reached{};

inline Time now() { return std::max(reached, from_seconds(simgrid::s4u::Engine::get_clock())); }

// Blocks the calling actor until `t`; returns at once when that is not in the future. Then now() is at least `t`.
inline void sleep_until(Time t) {
  if (t <= now()) return;
  simgrid::s4u::this_actor::sleep_until(seconds(t));
  reached = std::max(reached, t);
}

}  // namespace uvmsim
