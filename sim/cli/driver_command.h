#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

// uvmsim driver prefetch FILE: checks the density prefetcher against a file of vectors.
void add_driver_command(Verb app, Console& console);

}  // namespace uvmsim
