#include "machine/check_machine.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/quantity.h"
#include "machine/link_tree.h"
#include "machine/memory_nodes.h"

namespace uvmsim {
namespace {

using Kind = LinkNode::Kind;

struct NodeForm {
  std::string_view memory;  // MemoryNode::kind
  Kind node;
  std::string name;  // of such nodes, without their number
};

const NodeForm& form_of(const MemoryNode& memory) {
  static const NodeForm forms[] = {{"dram", Kind::Memory, "memory"},
                                   {"nvm", Kind::Nvm, "nvm"},
                                   {"ssd", Kind::Ssd, "ssd"},
                                   {"cxl", Kind::Cxl, "cxl"},
                                   {"gpu", Kind::Gpu, "gpu"}};
  return *std::ranges::find(forms, memory.kind, &NodeForm::memory);
}

bool is_end(const std::vector<LinkSpec>& links, const std::string& node) {
  return std::ranges::any_of(links, [&](const LinkSpec& link) { return link.from == node || link.to == node; });
}

// What several memories have in common in `member`, each once.
std::set<std::string> repeated(const std::vector<MemoryNode>& memories, std::string MemoryNode::*member) {
  std::set<std::string> once, again;
  for (const MemoryNode& memory : memories)
    if (!once.insert(memory.*member).second) again.insert(memory.*member);
  return again;
}

}  // namespace

std::string SectionPlace::of(const std::vector<std::string>& keys) const {
  std::string at = pointer;
  const JsonValue* member = value;
  for (const std::string& key : keys) {
    at = pointer_to(at, key);
    if (member == nullptr) continue;
    if (member->type != JsonValue::Type::Array) {
      member = member->find(key);
      continue;
    }
    std::size_t index = 0;
    std::from_chars(key.data(), key.data() + key.size(), index);
    member = &member->items.at(index);
  }
  return place_of(at, member == nullptr ? "" : member->origin);
}

void check_listed_memories(const MachineSection& section, const SectionPlace& place, std::vector<InputError>& errors) {
  Bytes host_left = section.host.memory;
  for (std::size_t i = 0; i < section.memories.size(); ++i) {
    const MemoryNode& memory = section.memories[i];
    const auto error = [&](const std::string& key, std::string message) {
      errors.push_back({place.of({"memories", std::to_string(i), key}), std::move(message)});
    };
    const NodeForm& form = form_of(memory);
    if (memory.name.empty()) error("name", "a memory has no name");
    if (!is_node_of(memory.node, form.node))
      error("node", "\"" + memory.node + "\" is no node of kind " + memory.kind + "; expected " + form.name + "0, " +
                        form.name + "1, ...");
    else if (!is_end(section.links, memory.node))
      error("node", "no link ends at " + memory.node);
    if (memory.kind == "gpu" && memory.capacity > section.gpu.usable_memory)
      error("capacity", "more than machine.gpu.usable_memory, " + to_text(section.gpu.usable_memory));
    if (memory.kind == "dram") {
      if (memory.capacity > host_left)
        error("capacity", "more than is left of machine.host.memory, " + to_text(host_left));
      host_left = std::max(Bytes{}, host_left - memory.capacity);
    }
    if (memory.own_dma && memory.kind != "ssd") error("own_dma", "only an ssd has a DMA engine of its own");
    for (const auto& [key, rate] :
         {std::pair("kernel_read", memory.kernel_read), {"kernel_write", memory.kernel_write}})
      if (memory.kind == "ssd" && rate.value > 0) error(key, "kernels cannot use an ssd in place");
  }
}

void check_memories(const Machine& machine, const SectionPlace& place, std::vector<InputError>& errors) {
  const std::string all = place.of({"memories"});
  for (const std::string& name : repeated(machine.memories, &MemoryNode::name))
    errors.push_back({all, "two memories are named " + name});
  for (const std::string& node : repeated(machine.memories, &MemoryNode::node))
    errors.push_back({all, "two memories are at " + node});
  for (const MemoryNode& memory : machine.memories)
    if (memory.capacity.value <= 0)
      errors.push_back({all, "nothing of machine.host.memory is left for " + memory.node});
}

void check_reach(const Machine& machine, const SectionPlace& place, std::vector<InputError>& errors) {
  const bool host_memory = std::ranges::any_of(machine.memories, [](const MemoryNode& m) { return m.kind == "dram"; });
  for (const GpuIndex gpu : machine.gpus.indices()) {
    const std::string from = gpu_node(gpu);
    std::string unreached = host_memory ? "" : ", a memory";
    for (const MemoryNode& memory : machine.memories)
      if (memory.node != from && copy_path(machine.links, from, memory.node).empty()) unreached += ", " + memory.node;
    for (GpuIndex peer = gpu + 1; peer < machine.gpus.outer(); ++peer)
      if (copy_path(machine.links, from, gpu_node(peer)).empty()) unreached += ", " + gpu_node(peer);
    if (unreached.empty()) continue;
    errors.push_back(
        {place.of({"links"}), "no path of links joins " + from + " to " + unreached.substr(2) +
                                  "; only switches and sockets forward, and NVLinks between GPUs lead to GPUs only"});
  }
}

}  // namespace uvmsim
