// SimGrid's clock is a double in seconds; ours counts integer picoseconds. Both meet only here.
#pragma once

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>

#include "base/units.h"

namespace uvmsim {

inline Time now() { return from_seconds(simgrid::s4u::Engine::get_clock()); }

// Blocks the calling actor until `t`; returns at once when that is not in the future.
inline void sleep_until(Time t) {
  if (t > now()) simgrid::s4u::this_actor::sleep_until(seconds(t));
}

}  // namespace uvmsim
