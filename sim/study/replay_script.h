// What a program asks of one GPU as a script of plain lines, for capture/replay to run on hardware.
#pragma once

#include <ostream>

#include "memory/allocator.h"
#include "memory/program.h"

namespace uvmsim {

// Writes `program`, which `placement` placed, as capture/replay/REPLAY.md describes it. Layers and tensors are gone:
// what is left is driver allocations, kernels with the ranges they touch, copies, calls and synchronization.
// UserError when the program uses more than one GPU, takes part in collectives, has several host threads, or ran
// out of memory.
void write_replay_script(const Program& program, const PlacementOptions& placement, std::ostream& out);

}  // namespace uvmsim
