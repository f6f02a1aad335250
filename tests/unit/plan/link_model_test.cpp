// What planners reckon copies to a memory node with.
#include "plan/link_model.h"

#include <gtest/gtest.h>

#include "machine/memory_nodes.h"

namespace uvmsim {
namespace {

constexpr BytesPerSecond kGBps{1'000'000'000};

// memory0 (100 GB/s) - socket0 - gpu0 (12 down, 13 up) and socket0 - ssd0 (4). The SSD reads 3.2 GB/s, writes 3, after
// 20 us; a copy method takes 1 us.
Machine machine() {
  Machine m;
  m.gpus.resize(1);
  m.gpus[GpuIndex{0}].copy.method_latency = microseconds(1);
  m.host.memory = Bytes{1 << 30};
  const auto hop = [&](const std::string& from, const std::string& to, BytesPerSecond down, BytesPerSecond up) {
    LinkSpec link;
    link.name = from + "-" + to;
    link.kind = "pcie";
    link.from = from;
    link.to = to;
    link.down = down;
    link.up = up;
    m.links.push_back(link);
  };
  hop("memory0", "socket0", kGBps * 100, kGBps * 100);
  hop("socket0", "gpu0", kGBps * 12, kGBps * 13);
  hop("socket0", "ssd0", kGBps * 4, kGBps * 4);
  m.memories = unlisted_memories(m);
  m.memories.push_back({.name = "ssd",
                        .kind = "ssd",
                        .node = "ssd0",
                        .capacity = Bytes{1},
                        .read = kGBps * 16 / 5,
                        .write = kGBps * 3,
                        .latency = microseconds(20)});
  return m;
}

TEST(LinkModel, OfHostMemoryIsTheGpusLink) {
  const LinkModel model = link_model(machine(), GpuIndex{0});
  EXPECT_EQ(model.in, kGBps * 12);
  EXPECT_EQ(model.out, kGBps * 13);
  EXPECT_EQ(model.latency, microseconds(1));
}

// 32 MB come in 10 ms and 21 us, 30 MB go in as much.
TEST(LinkModel, OfAnSsdHasItsRatesAndItsLatency) {
  const LinkModel model = link_model(machine(), GpuIndex{0}, 1);
  EXPECT_EQ(model.in_time(32'000'000), microseconds(10'021));
  EXPECT_EQ(model.out_time(30'000'000), microseconds(10'021));
}

// The link to the SSD carries 1 GB/s less than it reads.
TEST(LinkModel, IsTheNarrowestOfLinksAndNode) {
  Machine m = machine();
  m.links[2].up = kGBps * 2;
  EXPECT_EQ(link_model(m, GpuIndex{0}, 1).in, kGBps * 2);
  EXPECT_EQ(link_model(m, GpuIndex{0}, 1).out, kGBps * 3);
}

TEST(LinkModel, OfAShareHasThatPartOfTheRatesAndAllOfTheLatency) {
  const LinkModel model = link_model(machine(), GpuIndex{0}, 1, 0.5);
  EXPECT_EQ(model.in, kGBps * 8 / 5);
  EXPECT_EQ(model.out, kGBps * 3 / 2);
  EXPECT_EQ(model.latency, microseconds(21));
}

// Host memory, which is nearest, and the SSD; the memory of the GPU itself is none of them.
TEST(NodeLinks, AreOfAllNodesButTheGpusOwnMemory) {
  Machine m = machine();
  m.memories.push_back({.name = "hbm0", .kind = "gpu", .node = "gpu0", .capacity = Bytes{1}});
  const std::vector<NodeLink> nodes = node_links(m, GpuIndex{0});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].kind, "dram");
  EXPECT_TRUE(nodes[0].nearest);
  EXPECT_EQ(nodes[1].kind, "ssd");
  EXPECT_FALSE(nodes[1].nearest);
  EXPECT_EQ(nodes[1].links.in, link_model(m, GpuIndex{0}, 1).in);
}

}  // namespace
}  // namespace uvmsim
