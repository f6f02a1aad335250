#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim completion SHELL, uvmsim man: written from all commands of `app`, those added later included.
void add_help_commands(Verb app, Console& console);

}  // namespace uvmsim
