// What looks wrong with a machine that can be simulated: mistakes that people make when they describe their own.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"

namespace uvmsim {

// One sentence each; empty: nothing. Capacities in GB that cards have in GiB, rates above the link's that carries them,
// and PCIe links above what 16 lanes of PCIe 5.0 carry.
std::vector<std::string> machine_remarks(const Machine& machine);

}  // namespace uvmsim
