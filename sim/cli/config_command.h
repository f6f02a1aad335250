#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim config show CONFIG, uvmsim config schema.
void add_config_command(Verb app, Console& console);

}  // namespace uvmsim
