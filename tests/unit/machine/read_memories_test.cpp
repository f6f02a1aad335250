// "machine": {"memories": [...]}: what is added, what is dropped, and what is wrong although each value is right.
#include <gmock/gmock.h>

#include "machine/memory_nodes.h"
#include "support/machine_text.h"

namespace uvmsim {
namespace {

using test::memory_text;
using testing::ElementsAre;
using testing::IsEmpty;

std::string link_text(const std::string& name, const std::string& from, const std::string& to) {
  return test::link_text(name, from, to);
}

// Two sockets, a GPU on each, an SSD on the first.
const std::vector<std::string> kLinks = {link_text("m0", "memory0", "socket0"),  link_text("m1", "memory1", "socket1"),
                                         link_text("qpi", "socket0", "socket1"), link_text("a", "socket0", "gpu0"),
                                         link_text("b", "socket1", "gpu1"),      link_text("s", "socket0", "ssd0")};

test::MachineRead read_memories(const std::vector<std::string>& memories, const std::vector<std::string>& settings = {},
                                int gpus = 2) {
  std::vector<std::string> all = {"host.memory=16 GiB", "gpu.remote_bandwidth=5 GB/s"};
  all.insert(all.end(), settings.begin(), settings.end());
  return test::read_machine_of(gpus, kLinks, all, memories);
}

std::vector<std::string> names(const Machine& machine) {
  std::vector<std::string> list;
  for (const MemoryNode& memory : machine.memories) list.push_back(memory.name);
  return list;
}

TEST(Memories, AreByDefaultTheHostsInEqualParts) {
  const test::MachineRead r = read_memories({});
  EXPECT_THAT(r.errors, IsEmpty());
  ASSERT_THAT(names(r.machine), ElementsAre("memory0", "memory1"));
  for (const MemoryNode& memory : r.machine.memories) {
    EXPECT_EQ(memory.kind, "dram");
    EXPECT_EQ(memory.node, memory.name);
    EXPECT_EQ(memory.capacity, Bytes{8LL << 30});
    EXPECT_EQ(memory.read, BytesPerSecond{});
    EXPECT_EQ(memory.write, BytesPerSecond{});
    EXPECT_EQ(memory.latency, Duration{});
    EXPECT_EQ(memory.kernel_read, BytesPerSecond{5'000'000'000});
    EXPECT_EQ(memory.kernel_write, BytesPerSecond{5'000'000'000});
  }
}

// The listed gibibyte of socket 1 leaves 15 of 16 for socket 0.
TEST(Memories, ThatAreListedComeFirstAndLeaveTheRest) {
  const test::MachineRead r = read_memories({memory_text("ssd", "ssd0"), memory_text("dram", "memory1")});
  EXPECT_THAT(r.errors, IsEmpty());
  ASSERT_THAT(names(r.machine), ElementsAre("my ssd0", "my memory1", "memory0"));
  EXPECT_EQ(r.machine.memories[1].kernel_read, BytesPerSecond{5'000'000'000});
  EXPECT_EQ(r.machine.memories[2].capacity, Bytes{15LL << 30});
  EXPECT_EQ(memory_named(r.machine, "my memory1"), 1);
  EXPECT_EQ(memory_named(r.machine, "memory1"), std::nullopt);
  EXPECT_EQ(nearest_dram(r.machine, GpuIndex{0}), 2);
  EXPECT_EQ(nearest_dram(r.machine, GpuIndex{1}), 1);
}

TEST(Memories, OfAbsentGpusAreDropped) {
  const std::vector<std::string> peer = {memory_text("gpu", "gpu1")};
  EXPECT_THAT(names(read_memories(peer, {}, 2).machine), ElementsAre("my gpu1", "memory0", "memory1"));
  const test::MachineRead alone = read_memories(peer, {}, 1);
  EXPECT_THAT(alone.errors, IsEmpty());
  EXPECT_THAT(names(alone.machine), ElementsAre("memory0", "memory1"));
}

TEST(Memories, HangOnAnEndOfALinkOfTheirKind) {
  EXPECT_THAT(
      read_memories({memory_text("ssd", "memory0"), memory_text("ssd", "ssd1"), memory_text("gpu", "gpu2")}).errors,
      ElementsAre("/machine/memories/0/node (x.json:1): \"memory0\" is no node of kind ssd; expected ssd0, "
                  "ssd1, ...",
                  "/machine/memories/1/node (x.json:1): no link ends at ssd1",
                  "/machine/memories/2/node (x.json:1): no link ends at gpu2"));
}

TEST(Memories, HaveNamesAndNodesOfTheirOwn) {
  EXPECT_THAT(read_memories({memory_text("ssd", "ssd0"), memory_text("ssd", "ssd0")}).errors,
              ElementsAre("/machine/memories (x.json:1): two memories are named my ssd0",
                          "/machine/memories (x.json:1): two memories are at ssd0"));
  EXPECT_THAT(read_memories({memory_text("ssd", "ssd0")}, {"memories.0.name=memory1"}).errors,
              ElementsAre("/machine/memories (x.json:1): two memories are named memory1"));
}

TEST(Memories, HoldSomething) {
  EXPECT_THAT(read_memories({memory_text("ssd", "ssd0")}, {"memories.0.capacity=0 B"}).errors,
              ElementsAre("/machine/memories/0/capacity (--set): \"0 B\" is outside 1 B..256 TiB"));
  EXPECT_THAT(read_memories({memory_text("dram", "memory0")}, {"memories.0.capacity=16 GiB"}).errors,
              ElementsAre("/machine/memories (x.json:1): nothing of machine.host.memory is left for memory1"));
}

TEST(Memories, HoldNoMoreThanThereIs) {
  EXPECT_THAT(
      read_memories({memory_text("dram", "memory0"), memory_text("dram", "memory1"), memory_text("gpu", "gpu1")},
                    {"memories.0.capacity=10 GiB", "memories.1.capacity=7 GiB", "memories.2.capacity=13 GiB",
                     "gpu.usable_memory=12 GiB"})
          .errors,
      ElementsAre("/machine/memories/1/capacity (--set): more than is left of machine.host.memory, 6 GiB",
                  "/machine/memories/2/capacity (--set): more than machine.gpu.usable_memory, 12 GiB"));
}

TEST(Memories, OfSsdsAreNotUsedByKernels) {
  EXPECT_THAT(
      read_memories({memory_text("ssd", "ssd0", R"(, "kernel_read": "1 GB/s", "kernel_write": "1 GB/s")")}).errors,
      ElementsAre("/machine/memories/0/kernel_read (x.json:1): kernels cannot use an ssd in place",
                  "/machine/memories/0/kernel_write (x.json:1): kernels cannot use an ssd in place"));
}

// The SSD is behind a switch of its own that leads nowhere else.
TEST(Memories, AreReachedByEveryGpu) {
  std::vector<std::string> links = kLinks;
  links.back() = link_text("s", "switch0", "ssd0");
  EXPECT_THAT(test::read_machine_of(2, links, {}, {memory_text("ssd", "ssd0")}).errors,
              ElementsAre("/machine/links (x.json:1): no path of links joins gpu0 to ssd0; only switches and sockets "
                          "forward, and NVLinks between GPUs lead to GPUs only",
                          "/machine/links (x.json:1): no path of links joins gpu1 to ssd0; only switches and sockets "
                          "forward, and NVLinks between GPUs lead to GPUs only"));
}

}  // namespace
}  // namespace uvmsim
