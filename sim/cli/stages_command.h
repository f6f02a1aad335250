// `uvmsim stages`: configurations one after the other, as the stages of one program.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_stages_command(Verb app, Console& console);

}  // namespace uvmsim
