#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim report PATH... -o FILE: one page of results to look at.
void add_report_command(Verb app, Console& console);

}  // namespace uvmsim
