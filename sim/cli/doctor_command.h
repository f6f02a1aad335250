#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim doctor: what this program finds on this machine.
void add_doctor_command(Verb app, Console& console);

}  // namespace uvmsim
