#include "machine/machine_remarks.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/quantity.h"
#include "machine/link_tree.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kGb = 1'000'000'000, kGib = std::int64_t{1} << 30;
// 32 GT/s x 16 lanes x 128/130 (PCI Express Base Specification 5.0).
constexpr BytesPerSecond kPcie5{63'015'384'615};

void add_memory(const GpuSpec& gpu, std::vector<std::string>& remarks) {
  if (gpu.memory.value % kGb != 0 || gpu.memory.value % kGib == 0) return;
  char gib[16];
  std::snprintf(gib, sizeof gib, "%.2f", static_cast<double>(gpu.memory.value) / static_cast<double>(kGib));
  remarks.push_back("gpu.memory: " + to_text(gpu.memory) + " is " + gib +
                    " GiB; cards are sold by the GiB: did you mean \"" + std::to_string(gpu.memory.value / kGb) +
                    " GiB\"?");
}

// `rate` of `key` flows over `path`.
void add_rate(const std::string& key, BytesPerSecond rate, const LinkPath& path, std::vector<std::string>& remarks) {
  if (path.empty()) return;
  const LinkHop& least = *std::ranges::min_element(path, {}, &LinkHop::rate);
  if (rate <= least.rate()) return;
  remarks.push_back(key + ": " + to_text(rate) + " is more than the link " + least.link->name + " carries, " +
                    to_text(least.rate()) + ", which limits it");
}

}  // namespace

std::vector<std::string> machine_remarks(const Machine& machine) {
  std::vector<std::string> remarks;
  std::set<std::string> seen;
  for (const LinkSpec& link : machine.links)
    if (link.kind == "pcie" && std::max(link.down, link.up) > kPcie5 && seen.insert(link.name).second)
      remarks.push_back("link " + link.name + ": " + to_text(std::max(link.down, link.up)) +
                        " is more than 16 lanes of PCIe 5.0 carry, " + to_text(kPcie5));
  // All GPUs are alike.
  const GpuIndex first{0};
  const GpuSpec& gpu = machine.gpus[first];
  add_memory(gpu, remarks);
  const std::string host = nearest_memory(machine.links, first), own = gpu_node(first);
  const LinkPath in = host_path(machine.links, host, own), out = host_path(machine.links, own, host);
  add_rate("gpu.copy.h2d_bandwidth", gpu.copy.h2d_bandwidth, in, remarks);
  add_rate("gpu.copy.d2h_bandwidth", gpu.copy.d2h_bandwidth, out, remarks);
  add_rate("gpu.remote_bandwidth", gpu.remote_bandwidth, in, remarks);
  return remarks;
}

}  // namespace uvmsim
