// Which GPUs compete for which link to host memory.
#pragma once

#include <string>
#include <vector>

#include "machine/link_tree.h"
#include "machine/machine.h"

namespace uvmsim {

// The way from a GPU up to the host memory nearest to it, the GPU's own link first. Empty: it reaches none.
LinkPath links_to_memory(const Machine& machine, GpuIndex gpu);

// A link and the GPUs that compete for it.
struct SharedLink {
  std::string name;
  std::vector<GpuIndex> gpus;  // of the machine, ascending; two at least
  friend bool operator==(const SharedLink&, const SharedLink&) = default;
};

// Of each of `gpus` the link on its way to memory that falls shortest of what the GPUs below it can together ask of it
// in some direction. In the order of the machine's links; a GPU whose links all carry what is asked competes with none.
std::vector<SharedLink> shared_links(const Machine& machine, const std::vector<GpuIndex>& gpus);

}  // namespace uvmsim
