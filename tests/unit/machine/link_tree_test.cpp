// Which nodes there are, and which paths.
#include "machine/link_tree.h"

#include <gmock/gmock.h>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LinkSpec link(const std::string& from, const std::string& to, const std::string& kind = "pcie") {
  LinkSpec l;
  l.name = from + "-" + to;
  l.kind = kind;
  l.from = from;
  l.to = to;
  l.down = BytesPerSecond{2};
  l.up = BytesPerSecond{1};
  return l;
}

// "memory0-socket0" crossed downwards, "-memory0-socket0" upwards.
std::vector<std::string> names(const LinkPath& path) {
  std::vector<std::string> list;
  for (const LinkHop& hop : path) list.push_back((hop.down ? "" : "-") + hop.link->name);
  return list;
}

TEST(LinkNode, IsNamedAfterItsKind) {
  using Kind = LinkNode::Kind;
  const std::pair<const char*, Kind> nodes[] = {
      {"gpu7", Kind::Gpu}, {"switch7", Kind::Switch}, {"socket7", Kind::Socket}, {"memory7", Kind::Memory},
      {"nvm7", Kind::Nvm}, {"ssd7", Kind::Ssd},       {"cxl7", Kind::Cxl}};
  for (const auto& [name, kind] : nodes) {
    const std::optional<LinkNode> node = link_node(name);
    ASSERT_TRUE(node.has_value()) << name;
    EXPECT_EQ(node->kind, kind) << name;
    EXPECT_EQ(node->number, 7) << name;
  }
}

// One node has one name: "gpu00" would be another one than "gpu0" and the same GPU.
TEST(LinkNode, HasOneNameOnly) {
  for (const char* name : {"", "gpu", "gpu00", "gpu01", "gpu-1", "gpu+1", "gpu1x", "Gpu1", "gpu99999999999", "hbm0"})
    EXPECT_FALSE(link_node(name).has_value()) << name;
  EXPECT_TRUE(link_node("gpu0").has_value());
}

const std::vector<LinkSpec> kTwoSockets = {
    link("memory0", "socket0"), link("memory1", "socket1"),     link("socket0", "socket1", "socket"),
    link("socket0", "switch0"), link("switch0", "gpu0"),        link("switch0", "gpu1"),
    link("socket1", "gpu2"),    link("gpu0", "gpu1", "nvlink"), link("gpu1", "gpu2", "nvlink")};

TEST(LinkPath, CrossesLinksEitherWay) {
  EXPECT_THAT(names(host_path(kTwoSockets, "memory0", "gpu0")),
              ElementsAre("memory0-socket0", "socket0-switch0", "switch0-gpu0"));
  const LinkPath up = host_path(kTwoSockets, "gpu0", "memory1");
  EXPECT_THAT(names(up), ElementsAre("-switch0-gpu0", "-socket0-switch0", "socket0-socket1", "-memory1-socket1"));
  EXPECT_EQ(up.front().rate(), BytesPerSecond{1});
  EXPECT_EQ(up.front().rate_back(), BytesPerSecond{2});
}

// NVLink from gpu0 to gpu2 would lead through gpu1.
TEST(LinkPath, LeadsThroughNoGpu) {
  EXPECT_THAT(names(nvlink_path(kTwoSockets, "gpu0", "gpu1")), ElementsAre("gpu0-gpu1"));
  EXPECT_THAT(nvlink_path(kTwoSockets, "gpu0", "gpu2"), IsEmpty());
  EXPECT_THAT(names(copy_path(kTwoSockets, "gpu1", "gpu0")), ElementsAre("-gpu0-gpu1"));
  EXPECT_THAT(names(copy_path(kTwoSockets, "gpu0", "gpu2")),
              ElementsAre("-switch0-gpu0", "-socket0-switch0", "socket0-socket1", "socket1-gpu2"));
}

TEST(LinkPath, LeadsThroughNoMemory) {
  const std::vector<LinkSpec> links = {link("memory0", "gpu0"), link("memory0", "gpu1"), link("ssd0", "gpu0"),
                                       link("ssd0", "gpu1")};
  EXPECT_THAT(host_path(links, "gpu0", "gpu1"), IsEmpty());
}

TEST(LinkPath, OfTwoAsShortTakesTheLinkDeclaredFirst) {
  const std::vector<LinkSpec> links = {link("socket0", "switch1"), link("socket0", "switch0"), link("switch0", "gpu0"),
                                       link("switch1", "gpu0")};
  EXPECT_THAT(names(host_path(links, "socket0", "gpu0")), ElementsAre("socket0-switch1", "switch1-gpu0"));
}

TEST(NearestMemory, IsThatOfTheGpusSocket) {
  EXPECT_EQ(nearest_memory(kTwoSockets, GpuIndex{0}), "memory0");
  EXPECT_EQ(nearest_memory(kTwoSockets, GpuIndex{2}), "memory1");
  EXPECT_EQ(nearest_memory({link("socket0", "gpu0"), link("memory0", "socket1")}, GpuIndex{0}), "");
}

// An AC922: the NVLinks of a socket are the way to the host, those between GPUs their own network.
TEST(LinkPath, LeadsToTheHostOverNvlinksOfASocket) {
  const std::vector<LinkSpec> links = {link("memory0", "socket0"),           link("memory1", "socket1"),
                                       link("socket0", "socket1", "socket"), link("socket0", "gpu0", "nvlink"),
                                       link("socket0", "gpu1", "nvlink"),    link("socket1", "gpu2", "nvlink"),
                                       link("gpu0", "gpu1", "nvlink")};
  EXPECT_THAT(names(host_path(links, "memory0", "gpu0")), ElementsAre("memory0-socket0", "socket0-gpu0"));
  EXPECT_THAT(names(host_path(links, "memory1", "gpu0")),
              ElementsAre("memory1-socket1", "-socket0-socket1", "socket0-gpu0"));
  EXPECT_THAT(names(copy_path(links, "gpu0", "gpu1")), ElementsAre("gpu0-gpu1"));
  EXPECT_THAT(nvlink_path(links, "gpu0", "gpu2"), IsEmpty());
  EXPECT_THAT(names(copy_path(links, "gpu0", "gpu2")), ElementsAre("-socket0-gpu0", "socket0-socket1", "socket1-gpu2"));
  EXPECT_EQ(host_link_kind(links, GpuIndex{0}), "nvlink");
  EXPECT_EQ(host_link_kind(kTwoSockets, GpuIndex{0}), "pcie");
}

// GPUs 0 and 1 are below two sockets of one server, 2 and 3 in one behind a network; NVLinks do not count.
TEST(Servers, AreWhatNoNetworkSeparates) {
  Machine machine;
  machine.gpus.resize(4);
  machine.links = {link("socket0", "gpu0"),
                   link("socket1", "gpu1"),
                   link("socket0", "socket1", "socket"),
                   link("switch0", "gpu2"),
                   link("switch0", "gpu3"),
                   link("gpu0", "gpu1", "nvlink"),
                   link("socket2", "switch0"),
                   link("socket0", "switch9", "network"),
                   link("switch9", "socket2", "network")};
  std::vector<std::int32_t> servers;
  for (const GpuIndex gpu : machine.gpus.indices()) servers.push_back(server_of(machine, gpu).value);
  EXPECT_THAT(servers, ElementsAre(0, 0, 2, 2));
}

}  // namespace
}  // namespace uvmsim
