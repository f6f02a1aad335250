#include "plan/shared_links.h"

#include <algorithm>
#include <map>

namespace uvmsim {

std::vector<const LinkSpec*> links_to_memory(const Machine& machine, int gpu) {
  std::vector<const LinkSpec*> path;
  std::string node = "gpu" + std::to_string(gpu);
  while (path.size() < machine.links.size()) {
    const auto up = std::ranges::find_if(machine.links, [&](const LinkSpec& l) {
      return l.to == node && l.kind != "nvlink" && !l.from.starts_with("gpu") && l.kind != "socket";
    });
    if (up == machine.links.end()) break;
    path.push_back(&*up);
    node = up->from;
  }
  return path;
}

std::vector<SharedLink> shared_links(const Machine& machine, const std::vector<int>& gpus) {
  struct Demand {
    std::vector<int> gpus;
    std::int64_t down = 0, up = 0;  // bytes per second that they can ask for
  };
  std::map<const LinkSpec*, Demand> demands;
  for (const int gpu : gpus) {
    const std::vector<const LinkSpec*> path = links_to_memory(machine, gpu);
    if (path.empty()) continue;
    BytesPerSecond down = path.front()->down, up = path.front()->up;
    for (const LinkSpec* link : path) {
      down = std::min(down, link->down);
      up = std::min(up, link->up);
      Demand& demand = demands[link];
      demand.gpus.push_back(gpu);
      demand.down += down.value;
      demand.up += up.value;
    }
  }
  const auto overload = [&](const LinkSpec* link) {  // what is asked for over what there is
    const auto ratio = [](std::int64_t asked, BytesPerSecond rate) {
      return static_cast<double>(asked) / static_cast<double>(rate.value);
    };
    return std::max(ratio(demands[link].down, link->down), ratio(demands[link].up, link->up));
  };
  std::map<const LinkSpec*, std::vector<int>> narrowest;
  for (const int gpu : gpus) {
    const std::vector<const LinkSpec*> path = links_to_memory(machine, gpu);
    if (path.empty()) continue;
    const LinkSpec* link = *std::ranges::max_element(path, {}, overload);
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
