#include <algorithm>
#include <charconv>
#include <set>

#include "machine/description.h"

namespace uvmsim {
namespace {

// The number of the GPU that node `name` is; nullopt when it is another node.
std::optional<int> gpu_number(const std::string& name) {
  if (!name.starts_with("gpu")) return std::nullopt;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

bool is_node(const std::string& name) {
  for (const std::string_view kind : {"gpu", "switch", "socket", "memory"})
    if (name.starts_with(kind) && name.size() > kind.size() &&
        name.find_first_not_of("0123456789", kind.size()) == std::string::npos)
      return true;
  return false;
}

// Checks the links of one machine section and keeps those of its first GPUs.
class Topology {
 public:
  Topology(const MachineSection& section, const JsonValue* value, const std::string& pointer,
           std::vector<InputError>& errors)
      : section_(section), links_(section.links), value_(value), pointer_(pointer), errors_(errors) {}

  std::vector<LinkSpec> links() {
    check_links();
    check_gpu_count();
    std::erase_if(links_, [&](const LinkSpec& link) { return is_absent(link.from) || is_absent(link.to); });
    drop_empty_switches();
    for (int gpu = 0; gpu < section_.gpus && gpu < connected_; ++gpu) check_reaches_memory(gpu);
    return links_;
  }

 private:
  void error(const std::string& key, std::string message) {
    const JsonValue* at = value_ == nullptr ? nullptr : value_->find(key);
    const std::string place = at == nullptr ? "" : at->origin;
    errors_.push_back({place_of(pointer_to(pointer_, key), place), std::move(message)});
  }

  bool is_absent(const std::string& node) const {
    const std::optional<int> gpu = gpu_number(node);
    return gpu && *gpu >= section_.gpus;
  }

  void check_links() {
    std::set<std::string> names;
    for (const LinkSpec& link : links_) {
      if (link.name.empty()) error("links", "a link has no name");
      if (!names.insert(link.name).second) error("links", "two links are named " + link.name);
      for (const std::string& node : {link.from, link.to})
        if (!is_node(node))
          error("links",
                "link " + link.name + ": \"" + node + "\" is no node; expected gpu0, switch0, socket0, memory0, ...");
      if (link.from == link.to) error("links", "link " + link.name + " ends where it starts");
    }
  }

  void check_gpu_count() {
    for (const LinkSpec& link : links_)
      for (const std::string& node : {link.from, link.to})
        if (const std::optional<int> gpu = gpu_number(node)) connected_ = std::max(connected_, *gpu + 1);
    if (section_.gpus > connected_)
      error("gpus",
            std::to_string(section_.gpus) + " GPUs, but the machine's links connect " + std::to_string(connected_));
  }

  // A switch is the `from` end of the links to its GPUs.
  void drop_empty_switches() {
    const auto leads_nowhere = [&](const LinkSpec& link) {
      return link.to.starts_with("switch") &&
             std::ranges::none_of(links_, [&](const LinkSpec& other) { return other.from == link.to; });
    };
    // Not erase_if: the test reads the other links.
    for (auto it = std::ranges::find_if(links_, leads_nowhere); it != links_.end();
         it = std::ranges::find_if(links_, leads_nowhere))
      links_.erase(it);
  }

  void check_reaches_memory(int gpu) {
    std::set<std::string> reached = {"gpu" + std::to_string(gpu)};
    for (bool grew = true; grew;) {
      grew = false;
      for (const LinkSpec& link : links_) {
        if (link.kind == "nvlink") continue;
        if (reached.contains(link.from) != reached.contains(link.to)) {
          reached.insert(link.from);
          reached.insert(link.to);
          grew = true;
        }
      }
    }
    if (std::ranges::none_of(reached, [](const std::string& node) { return node.starts_with("memory"); }))
      error("links", "no path of pcie, socket and memory links joins gpu" + std::to_string(gpu) + " to a memory");
  }

  const MachineSection& section_;
  std::vector<LinkSpec> links_;
  const JsonValue* value_;
  const std::string& pointer_;
  std::vector<InputError>& errors_;
  int connected_ = 0;
};

}  // namespace

Machine read_machine(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                     ResolvedConfig& resolved) {
  MachineSection section;
  const std::size_t before = errors.size();
  const DescribedObject part{&describe_machine(), &section};
  read_described(value, pointer, {&part, 1}, errors, resolved);
  if (errors.size() != before) return {};

  if (section.gpu.usable_memory > section.gpu.memory)
    errors.push_back({pointer + "/gpu/usable_memory", "more than the card's memory"});
  Machine machine;
  machine.name = section.name;
  machine.gpus.assign(static_cast<std::size_t>(section.gpus), section.gpu);
  machine.host = section.host;
  machine.peer_access = section.peer_access;
  machine.links = Topology(section, value, pointer, errors).links();
  return machine;
}

}  // namespace uvmsim
