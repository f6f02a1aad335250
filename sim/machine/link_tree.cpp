#include "machine/link_tree.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace uvmsim {
namespace {

using Kind = LinkNode::Kind;

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"gpu", Kind::Gpu}, {"switch", Kind::Switch}, {"socket", Kind::Socket}, {"memory", Kind::Memory},
    {"nvm", Kind::Nvm}, {"ssd", Kind::Ssd},       {"cxl", Kind::Cxl}};

enum class Wires { Nvlinks, OtherLinks };

// NVLinks between GPUs are a network of their own; one to a socket is the way to the host.
Wires wires_of(const LinkSpec& link) {
  if (link.kind != "nvlink") return Wires::OtherLinks;
  const bool to_host = is_node_of(link.from, Kind::Socket) || is_node_of(link.to, Kind::Socket);
  return to_host ? Wires::OtherLinks : Wires::Nvlinks;
}

bool forwards(const std::string& node, Wires wires) {
  return is_node_of(node, Kind::Switch) || (wires == Wires::OtherLinks && is_node_of(node, Kind::Socket));
}

LinkPath shortest_path(const std::vector<LinkSpec>& links, const std::string& from, const std::string& to,
                       Wires wires) {
  std::map<std::string_view, std::vector<const LinkSpec*>> links_at;  // by node, as declared
  for (const LinkSpec& link : links)
    if (wires_of(link) == wires) links_at[link.from].push_back(&link), links_at[link.to].push_back(&link);
  std::map<std::string, LinkHop> reached_by{{from, {}}};
  std::deque<std::string> frontier{from};
  while (!frontier.empty() && !reached_by.contains(to)) {
    const std::string node = frontier.front();
    frontier.pop_front();
    if (node != from && !forwards(node, wires)) continue;
    for (const LinkSpec* link : links_at[node]) {
      const bool down = link->from == node;
      const std::string& next = down ? link->to : link->from;
      if (reached_by.try_emplace(next, LinkHop{link, down}).second) frontier.push_back(next);
    }
  }
  LinkPath path;
  if (from == to || !reached_by.contains(to)) return path;
  for (LinkHop hop = reached_by[to]; hop.link != nullptr; hop = reached_by[hop.down ? hop.link->from : hop.link->to])
    path.insert(path.begin(), hop);
  return path;
}

}  // namespace

std::optional<LinkNode> link_node(std::string_view name) {
  for (const auto& [prefix, kind] : kKinds) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = name.substr(prefix.size());
    int number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || std::to_string(number) != digits || number < 0) return std::nullopt;
    return LinkNode{kind, number};
  }
  return std::nullopt;
}

bool is_node_of(std::string_view name, Kind kind) {
  const std::optional<LinkNode> node = link_node(name);
  return node && node->kind == kind;
}

std::string gpu_node(GpuIndex gpu) { return "gpu" + std::to_string(gpu.value); }

LinkPath nvlink_path(const std::vector<LinkSpec>& links, const std::string& from, const std::string& to) {
  return shortest_path(links, from, to, Wires::Nvlinks);
}

LinkPath host_path(const std::vector<LinkSpec>& links, const std::string& from, const std::string& to) {
  return shortest_path(links, from, to, Wires::OtherLinks);
}

LinkPath copy_path(const std::vector<LinkSpec>& links, const std::string& from, const std::string& to) {
  if (is_node_of(from, Kind::Gpu) && is_node_of(to, Kind::Gpu))
    if (LinkPath path = nvlink_path(links, from, to); !path.empty()) return path;
  return host_path(links, from, to);
}

std::string host_link_kind(const std::vector<LinkSpec>& links, GpuIndex gpu) {
  const LinkPath path = host_path(links, nearest_memory(links, gpu), gpu_node(gpu));
  return path.empty() ? "" : path.back().link->kind;
}

GpuIndex server_of(const Machine& machine, GpuIndex gpu) {
  const auto in_server = [&](GpuIndex first) {
    const LinkPath way = host_path(machine.links, gpu_node(first), gpu_node(gpu));
    return !way.empty() && std::ranges::none_of(way, [](const LinkHop& hop) { return hop.link->kind == "network"; });
  };
  for (const GpuIndex first : machine.gpus.indices())
    if (first == gpu || in_server(first)) return first;
  return gpu;
}

std::string nearest_memory(const std::vector<LinkSpec>& links, GpuIndex gpu) {
  std::set<std::string> memories;
  for (const LinkSpec& link : links)
    for (const std::string& node : {link.from, link.to})
      if (is_node_of(node, Kind::Memory)) memories.insert(node);
  std::string nearest;
  std::size_t fewest = 0;
  for (const std::string& memory : memories) {
    const std::size_t hops = host_path(links, memory, gpu_node(gpu)).size();
    if (hops == 0 || (!nearest.empty() && hops >= fewest)) continue;
    nearest = memory;
    fewest = hops;
  }
  return nearest;
}

}  // namespace uvmsim
