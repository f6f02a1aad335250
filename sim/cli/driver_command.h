#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

// uvmsim driver prefetch FILE: checks the density prefetcher against a file of vectors.
void add_driver_command(CLI::App& app, Console& console);

}  // namespace uvmsim
