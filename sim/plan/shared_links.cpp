#include "plan/shared_links.h"

#include <algorithm>
#include <map>

#include "machine/memory_nodes.h"

namespace uvmsim {

LinkPath links_to_memory(const Machine& machine, GpuIndex gpu) {
  return host_path(machine.links, gpu_node(gpu), managed_memory(machine, gpu));
}

std::vector<SharedLink> shared_links(const Machine& machine, const std::vector<GpuIndex>& gpus) {
  struct Demand {
    std::int64_t down = 0, up = 0;  // bytes per second that they can ask for
  };
  std::map<const LinkSpec*, Demand> demands;
  for (const GpuIndex gpu : gpus) {
    const LinkPath path = links_to_memory(machine, gpu);
    if (path.empty()) continue;
    BytesPerSecond out = path.front().rate(), in = path.front().rate_back();
    for (const LinkHop& hop : path) {
      out = std::min(out, hop.rate());
      in = std::min(in, hop.rate_back());
      Demand& demand = demands[hop.link];
      (hop.down ? demand.down : demand.up) += out.value;
      (hop.down ? demand.up : demand.down) += in.value;
    }
  }
  const auto overload = [&](const LinkSpec* link) {  // what is asked for over what there is
    const auto ratio = [](std::int64_t asked, BytesPerSecond rate) {
      return static_cast<double>(asked) / static_cast<double>(rate.value);
    };
    return std::max(ratio(demands[link].down, link->down), ratio(demands[link].up, link->up));
  };
  std::map<const LinkSpec*, std::vector<GpuIndex>> narrowest;
  for (const GpuIndex gpu : gpus) {
    const LinkPath path = links_to_memory(machine, gpu);
    if (path.empty()) continue;
    const LinkSpec* link =
        std::ranges::max_element(path, {}, [&](const LinkHop& hop) { return overload(hop.link); })->link;
    if (overload(link) > 1) narrowest[link].push_back(gpu);
  }
  std::vector<SharedLink> shared;
  for (const LinkSpec& link : machine.links)
    if (const auto found = narrowest.find(&link); found != narrowest.end() && found->second.size() > 1) {
      std::ranges::sort(found->second);
      shared.push_back({link.name, found->second});
    }
  return shared;
}

}  // namespace uvmsim
