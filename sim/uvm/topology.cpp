#include "uvm/topology.h"

#include <map>
#include <set>
#include <string>

#include "base/check.h"

namespace uvmsim {
namespace {

bool is_switch(const std::string& node) { return node.starts_with("switch"); }

// Nodes reachable from `gpu` over NVLink without passing through another GPU or a socket.
std::set<std::string> nvlink_neighbours(const std::string& gpu,
                                        const std::map<std::string, std::set<std::string>>& links) {
  std::set<std::string> seen;
  std::vector<std::string> open{gpu};
  while (!open.empty()) {
    const std::string node = open.back();
    open.pop_back();
    const auto it = links.find(node);
    if (it == links.end()) continue;
    for (const std::string& next : it->second)
      if (seen.insert(next).second && is_switch(next)) open.push_back(next);
  }
  seen.erase(gpu);
  return seen;
}

}  // namespace

Topology::Topology(const Machine& machine) {
  const std::size_t processors = machine.gpus.size() + 1;
  UVMSIM_CHECK(processors <= kMaxProcessors, "more GPUs than a processor set holds");
  accessible_.resize(processors);
  fast_.resize(processors);
  std::map<std::string, std::set<std::string>> nvlinks;
  for (const LinkSpec& link : machine.links) {
    if (link.kind != "nvlink") continue;
    nvlinks[link.from].insert(link.to);
    nvlinks[link.to].insert(link.from);
  }
  const ProcessorId cpu = ProcessorId::cpu();
  accessible_[0].insert(cpu);
  for (const GpuIndex gpu : machine.gpus.indices()) {
    const ProcessorId self = ProcessorId::gpu(gpu);
    gpus_.insert(self);
    accessible_[index(self)].insert(self);
    accessible_[index(self)].insert(cpu);
    const std::set<std::string> neighbours = nvlink_neighbours("gpu" + std::to_string(gpu.value), nvlinks);
    for (const GpuIndex other : machine.gpus.indices()) {
      if (!neighbours.contains("gpu" + std::to_string(other.value))) continue;
      fast_[index(self)].insert(ProcessorId::gpu(other));
      accessible_[index(self)].insert(ProcessorId::gpu(other));
    }
    const GpuSpec& spec = machine.gpus[gpu];
    if (spec.host_link == "nvlink" || spec.host_link == "c2c") {
      fast_[index(self)].insert(cpu);
      fast_[0].insert(self);
    }
    if (has_ats(spec)) accessible_[0].insert(self);
  }
}

ProcessorId Topology::closest(ProcessorId who, ProcessorSet candidates) const {
  UVMSIM_CHECK(!candidates.empty(), "the closest of no processor was asked for");
  if (candidates.contains(who)) return who;
  const ProcessorSet near = candidates & accessible_[index(who)];
  if (const ProcessorSet gpus = near & gpus_; !gpus.empty()) return gpus.first();
  if (near.contains(ProcessorId::cpu())) return ProcessorId::cpu();
  return candidates.first();
}

}  // namespace uvmsim
