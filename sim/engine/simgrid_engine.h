// SimGrid's engine, set up as this project uses it.
#pragma once

#include <simgrid/s4u/Engine.hpp>

namespace uvmsim {

// The one engine of this process, before any platform. Call once: a second simulation would keep its clock.
simgrid::s4u::Engine& simgrid_engine();

}  // namespace uvmsim
