// SimGrid's engine, set up as this project uses it.
#pragma once

#include "engine/flows.h"

namespace uvmsim {

// To be called before any platform is made, once in a process: a second simulation would keep the clock.
void set_up_simgrid();

// Runs the actors of `scheduler()`, and with them SimGrid's part of `flows`. As Scheduler::run; once in a process.
bool run_actors(Flows& flows);

}  // namespace uvmsim
