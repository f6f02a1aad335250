// Configurations as text: the resolved one, and the JSON Schema of all.
#pragma once

#include <string>

#include "study/experiment.h"

namespace uvmsim {

// One line per value: `machine.gpu.memory = "32 GiB"  # datasheet, configs/....json:5: NVIDIA V100 data sheet`.
std::string resolved_text(const ResolvedConfig& resolved);

// The JSON Schema of experiment files; machine files follow its "#/properties/machine". Ends in a newline.
std::string config_schema();

}  // namespace uvmsim
