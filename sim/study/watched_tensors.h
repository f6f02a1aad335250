// Which tensors of a program a report looks at.
#pragma once

#include "memory/program.h"
#include "observe/observations.h"

namespace uvmsim {

// For a program placed with PlacementOptions::keep_tensors. Tensors are labelled by kind and layer. Watched are, on
// device 0 (`gpu` of the machine) and in the last iteration, those that nine tenths of the used bytes are in: 160 of
// them at most, evenly over the order of allocation.
ObservationSetup watched_tensors(const Program& program, GpuIndex gpu);

}  // namespace uvmsim
