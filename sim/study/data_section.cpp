#include "study/data_section.h"

#include <algorithm>

#include "base/quantity.h"
#include "machine/memory_nodes.h"
#include "study/plug_in_section.h"

namespace uvmsim {
namespace {

// Places in the orders of reading: 512 MiB of them.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 27;

// The rate of the memory `storage.node` over the links from there to the GPUs' host memory, at most what `data` says.
void read_over_links(const JsonValue* data, const std::string& pointer, const Machine& machine, StorageSpec& storage,
                     std::vector<InputError>& errors) {
  if (machine.gpus.empty()) return;  // it could not be read
  const auto error = [&](std::string message) {
    errors.push_back({place_of_key(data->find("storage"), pointer_to(pointer, "storage"), "node"), std::move(message)});
  };
  const auto node = std::ranges::find(machine.memories, storage.node, &MemoryNode::name);
  if (node == machine.memories.end() || node->kind == "dram" || node->kind == "gpu") {
    std::string others;
    for (const MemoryNode& m : machine.memories)
      if (m.kind != "dram" && m.kind != "gpu") others += (others.empty() ? "" : ", ") + m.name;
    return error("the machine has no storage named \"" + storage.node + "\"" +
                 (others.empty() ? "; its memories are all host memory" : "; expected " + others));
  }
  const std::string memory = managed_memory(machine, GpuIndex{0});
  const LinkPath path = host_path(machine.links, node->node, memory);
  if (path.empty()) return error("no path of links leads from " + node->node + " to " + memory);
  const JsonValue* section = data->find("storage");
  if (section->find("name") == nullptr) storage.name = node->name;
  if (section->find("read") == nullptr) storage.read = path.front().rate();
  if (node->read > BytesPerSecond{}) storage.read = std::min(storage.read, node->read);
  for (const LinkHop& hop : path) storage.read = std::min(storage.read, hop.rate());
}

}  // namespace

DataConfig read_data_section(const JsonValue* value, const std::string& pointer, const Machine& machine,
                             std::vector<InputError>& errors, ResolvedConfig& resolved) {
  DataConfig data;
  data.cache_factory = named_plug_in<ItemCache>(value, "cache", data.cache);
  if (value == nullptr) return data;
  const DescribedObject part{&describe_data(), &data};
  const std::size_t before = errors.size();
  read_described(value, pointer, {&part, 1}, errors, resolved);
  if (errors.size() != before) return data;
  const auto error = [&](const std::string& key, std::string message) {
    errors.push_back({place_of_key(value, pointer, key), std::move(message)});
  };
  if (!data.storage.node.empty()) read_over_links(value, pointer, machine, data.storage, errors);
  const Bytes host_memory = machine.host.memory;
  if (data.cache_memory > host_memory && host_memory > Bytes{})
    error("cache_memory",
          to_text(data.cache_memory) + " is more than the server has: machine.host.memory is " + to_text(host_memory));
  if (data.coordinated && data.jobs == 1)
    error("coordinated", "one job has nobody to share prepared data with: expected data.jobs of at least 2");
  if (data.partitioned && data.servers == 1)
    error("partitioned", "one server has nobody to share its memory with: expected data.servers of at least 2");
  if (const int orders = data.coordinated ? 1 : data.jobs; data.items > kMostPlaces / orders)
    error("items", "more than " + std::to_string(kMostPlaces) + " items of all jobs: they are followed one by one");
  return data;
}

}  // namespace uvmsim
