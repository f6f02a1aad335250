// `uvmsim pipeline`: how to cut a model into a pipeline.
#pragma once

#include "cli/program.h"
#include "cli/verb.h"

namespace uvmsim {

void add_pipeline_command(Verb app, Console& console);

}  // namespace uvmsim
