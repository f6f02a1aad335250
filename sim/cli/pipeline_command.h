// `uvmsim pipeline`: how to cut a model into a pipeline.
#pragma once

#include "cli/program.h"

namespace CLI {
class App;
}

namespace uvmsim {

void add_pipeline_command(CLI::App& app, Console& console);

}  // namespace uvmsim
