#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "machine/check_machine.h"
#include "machine/link_tree.h"
#include "machine/memory_nodes.h"

namespace uvmsim {
namespace {

using Kind = LinkNode::Kind;

// Checks the links of one machine section and keeps those of its first GPUs.
class Topology {
 public:
  Topology(const MachineSection& section, const SectionPlace& place, std::vector<InputError>& errors)
      : section_(section), links_(section.links), place_(place), errors_(errors) {}

  std::vector<LinkSpec> links() {
    check_links();
    check_gpu_count();
    std::erase_if(links_, [&](const LinkSpec& link) { return is_absent(link.from) || is_absent(link.to); });
    drop_empty_switches();
    return links_;
  }

  bool is_absent(const std::string& node) const {
    const std::optional<LinkNode> known = link_node(node);
    return known && known->kind == Kind::Gpu && known->number >= section_.gpus;
  }

 private:
  void error(const std::string& key, std::string message) { errors_.push_back({place_.of({key}), std::move(message)}); }

  void check_links() {
    std::set<std::string> names;
    for (const LinkSpec& link : links_) {
      if (link.name.empty()) error("links", "a link has no name");
      if (!names.insert(link.name).second) error("links", "two links are named " + link.name);
      for (const std::string& node : {link.from, link.to})
        if (!link_node(node))
          error("links",
                "link " + link.name + ": \"" + node + "\" is no node; expected gpu0, switch0, socket0, memory0, ...");
      if (link.from == link.to) error("links", "link " + link.name + " ends where it starts");
    }
  }

  void check_gpu_count() {
    std::int64_t connected = 0;
    for (const LinkSpec& link : links_)
      for (const std::string& node : {link.from, link.to})
        if (is_node_of(node, Kind::Gpu)) connected = std::max(connected, std::int64_t{link_node(node)->number} + 1);
    if (section_.gpus > connected)
      error("gpus",
            std::to_string(section_.gpus) + " GPUs, but the machine's links connect " + std::to_string(connected));
  }

  // A switch is the `from` end of the links to its GPUs.
  void drop_empty_switches() {
    const auto leads_nowhere = [&](const LinkSpec& link) {
      return is_node_of(link.to, Kind::Switch) &&
             std::ranges::none_of(links_, [&](const LinkSpec& other) { return other.from == link.to; });
    };
    // Not erase_if: the test reads the other links.
    for (auto it = std::ranges::find_if(links_, leads_nowhere); it != links_.end();
         it = std::ranges::find_if(links_, leads_nowhere))
      links_.erase(it);
  }

  const MachineSection& section_;
  std::vector<LinkSpec> links_;
  const SectionPlace& place_;
  std::vector<InputError>& errors_;
};

// The numbers in "0+4"; nullopt: it is no such list, names a GPU twice, or one beyond the first `gpus`.
std::optional<std::vector<int>> gpus_named(std::string_view text, int gpus) {
  std::vector<int> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    int number = 0;
    const auto [stop, fault] = std::from_chars(text.data() + begin, text.data() + end, number);
    if (fault != std::errc{} || stop != text.data() + end || number < 0 || number >= gpus) return std::nullopt;
    if (std::ranges::find(numbers, number) != numbers.end()) return std::nullopt;
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

// Renumbers the GPUs, those that `use` names first, and keeps these.
void select_gpus(MachineSection& section, const SectionPlace& place, std::vector<InputError>& errors) {
  if (section.use.empty()) return;
  const std::optional<std::vector<int>> used = gpus_named(section.use, section.gpus);
  if (!used) {
    errors.push_back({place.of({"use"}), "expected different GPUs of 0 to " + std::to_string(section.gpus - 1) +
                                             " with + between them, such as \"0+1\", got \"" + section.use + "\""});
    return;
  }
  std::vector<int> order = *used;
  for (int gpu = 0; gpu < section.gpus; ++gpu)
    if (std::ranges::find(order, gpu) == order.end()) order.push_back(gpu);
  const auto rename = [&](std::string& node) {
    const std::optional<LinkNode> known = link_node(node);
    if (!known || known->kind != Kind::Gpu || known->number >= section.gpus) return;
    node = "gpu" + std::to_string(std::ranges::find(order, static_cast<int>(known->number)) - order.begin());
  };
  for (LinkSpec& link : section.links) rename(link.from), rename(link.to);
  for (MemoryNode& memory : section.memories) rename(memory.node);
  section.gpus = static_cast<int>(used->size());
}

void check_host(const Machine& machine, const SectionPlace& place, std::vector<InputError>& errors) {
  const HostSpec& host = machine.host;
  if (host.page_size.value != kPageBytes && host.page_size.value != kBigPageBytes)
    errors.push_back({place.of({"host", "page_size"}), "expected \"4 KiB\" or \"64 KiB\""});
  if (host.membind.empty()) return;
  const std::optional<int> bound = memory_named(machine, host.membind);
  if (!bound || machine.memories[static_cast<std::size_t>(*bound)].kind != "dram")
    errors.push_back({place.of({"host", "membind"}), "\"" + host.membind + "\" is no memory of kind dram"});
}

// Kernels read and write host memory at the rate that their GPU does it with, unless the memory says another.
void fill_kernel_rates(const MachineSection& section, std::vector<MemoryNode>& memories) {
  for (MemoryNode& memory : memories)
    for (BytesPerSecond* rate : {&memory.kernel_read, &memory.kernel_write})
      if (memory.kind == "dram" && rate->value == 0) *rate = section.gpu.remote_bandwidth;
}

}  // namespace

Machine read_machine(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                     ResolvedConfig& resolved) {
  MachineSection section;
  const std::size_t before = errors.size();
  const DescribedObject part{&describe_machine(), &section};
  read_described(value, pointer, {&part, 1}, errors, resolved);
  if (errors.size() != before) return {};

  const SectionPlace place{value, pointer};
  select_gpus(section, place, errors);
  if (section.gpu.usable_memory > section.gpu.memory)
    errors.push_back({pointer + "/gpu/usable_memory", "more than the card's memory"});
  Machine machine;
  machine.name = section.name;
  machine.gpus.assign(static_cast<std::size_t>(section.gpus), section.gpu);
  machine.host = section.host;
  machine.peer_access = section.peer_access;
  const std::size_t sound = errors.size();
  Topology topology(section, place, errors);
  machine.links = topology.links();
  check_listed_memories(section, place, errors);
  if (errors.size() != sound) return machine;

  machine.memories = section.memories;
  std::erase_if(machine.memories, [&](const MemoryNode& memory) { return topology.is_absent(memory.node); });
  std::ranges::move(unlisted_memories(machine), std::back_inserter(machine.memories));
  fill_kernel_rates(section, machine.memories);
  for (const GpuIndex gpu : machine.gpus.indices()) machine.gpus[gpu].host_link = host_link_kind(machine.links, gpu);
  check_host(machine, place, errors);
  check_memories(machine, place, errors);
  check_reach(machine, place, errors);
  return machine;
}

}  // namespace uvmsim
