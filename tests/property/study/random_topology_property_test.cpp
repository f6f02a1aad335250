// Whatever links and memories a machine file lists: it is refused with a place, or the engine can route all of it.
#include <gtest/gtest.h>
#include <random>

#include "engine/fabric.h"
#include "study/child_process.h"
#include "support/machine_text.h"

namespace uvmsim {
namespace {

// A few links of any kind between any two of a few nodes, and a memory for some ends of them.
test::MachineRead random_machine(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> nodes = {"gpu0",    "gpu1",    "gpu2",    "switch0", "switch1", "socket0",
                                          "socket1", "memory0", "memory1", "ssd0",    "nvm0",    "cxl0"};
  const std::vector<std::string> kinds = {"pcie", "pcie", "pcie", "nvlink", "socket", "memory"};
  // Half of the machines start as one that is whole, so that many are accepted.
  std::vector<std::string> links;
  if (below(2) == 0)
    links = {test::link_text("m", "memory0", "socket0"), test::link_text("s", "socket0", "switch0"),
             test::link_text("a", "switch0", "gpu0"), test::link_text("b", "switch0", "gpu1")};
  const std::size_t more = 1 + below(10);
  for (std::size_t i = 0; i < more; ++i) {
    const std::size_t from = below(nodes.size());
    const std::size_t to = (from + 1 + below(nodes.size() - 1)) % nodes.size();
    links.push_back(test::link_text("l" + std::to_string(i), nodes[from], nodes[to], kinds[below(kinds.size())]));
  }
  std::vector<std::string> memories;
  for (const auto& [kind, node] : {std::pair("ssd", "ssd0"), {"nvm", "nvm0"}, {"cxl", "cxl0"}, {"gpu", "gpu1"}})
    if (below(5) == 0) memories.push_back(test::memory_text(kind, node));
  return test::read_machine_of(1 + static_cast<int>(below(3)), links, {}, memories);
}

TEST(RandomTopologies, AreRefusedWithAPlaceOrRouted) {
  std::mt19937_64 random(20261207);
  int refused = 0, routed = 0, with_memories = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const test::MachineRead r = random_machine(random);
    for (const std::string& error : r.errors) EXPECT_TRUE(error.starts_with("/machine/")) << error;
    if (!r.errors.empty()) {
      ++refused;
      continue;
    }
    ChildProcess child([&] {
          const Fabric fabric(r.machine, false);
      std::string unrouted;
      for (const GpuIndex gpu : r.machine.gpus.indices())
        for (int node = 0; node < static_cast<int>(r.machine.memories.size()); ++node)
          if (r.machine.memories[static_cast<std::size_t>(node)].node != gpu_node(gpu) &&
              (fabric.to_memory(gpu, node).hops.empty() || fabric.from_memory(gpu, node).hops.empty()))
            unrouted += " " + std::to_string(node);
      return unrouted;
    });
    ASSERT_NO_THROW(EXPECT_EQ(child.wait(), "")) << "trial " << trial;
    ++routed;
    for (const MemoryNode& memory : r.machine.memories) with_memories += memory.kind != "dram";
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(routed, 100);
  EXPECT_GT(with_memories, 20);
}

}  // namespace
}  // namespace uvmsim
