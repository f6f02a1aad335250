// The residency rules of a fault, one by one (driver specification, section 1.3). Page 0 of a block is faulted.
#include "uvm/residency.h"

#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;
using enum AccessType;

constexpr ProcessorId kGpu0 = kGpu, kGpu1 = ProcessorId::gpu(GpuIndex{1}), kGpu2 = ProcessorId::gpu(GpuIndex{2});

// GPUs 0 and 1 are NVLink peers; GPU 2 is on PCIe only.
struct Residency : testing::Test {
  Residency() { block.region = {0, 512}; }
  static Machine machine() {
    Machine m = small_machine(64_MiB, 3);
    add_nvlink(m, 0, 1);
    return m;
  }
  void put(ProcessorId where) {
    if (where.is_cpu())
      block.cpu.resident.set(0u);
    else
      block.gpu(where.gpu_index()).resident.set(0u);
  }
  ResidencyChoice choose(ProcessorId faulter, AccessType access = Read, std::optional<ProcessorId> pin = {}) {
    return select_residency(block, 0, faulter, access, topology, pin);
  }
  Topology topology{machine()};
  VaBlock block;
};

TEST_F(Residency, Rule1ReadDuplicationCopiesReadsAndMovesWrites) {
  put(kCpu);
  block.policy.read_duplication = true;
  block.policy.preferred_location = kCpu;
  EXPECT_EQ(choose(kGpu0, Read), (ResidencyChoice{kGpu0, true}));
  EXPECT_EQ(choose(kGpu0, Write), (ResidencyChoice{kGpu0, false}));
}

TEST_F(Residency, Rule2ThePreferredLocationPullsItsPages) {
  put(kCpu);
  block.policy.preferred_location = kGpu0;
  block.policy.accessed_by.insert(kGpu0);
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kGpu0});
}

TEST_F(Residency, Rule3APinIsObeyed) {
  put(kCpu);
  EXPECT_EQ(choose(kGpu0, Read, kGpu1), ResidencyChoice{kGpu1});
}

TEST_F(Residency, Rule4FirstTouchGoesToThePreferredLocationIfReachable) {
  EXPECT_EQ(choose(kGpu2), ResidencyChoice{kGpu2});
  block.policy.preferred_location = kCpu;
  EXPECT_EQ(choose(kGpu2), ResidencyChoice{kCpu});
  block.policy.preferred_location = kGpu0;
  EXPECT_EQ(choose(kGpu1), ResidencyChoice{kGpu0}) << "a peer";
  EXPECT_EQ(choose(kGpu2), ResidencyChoice{kGpu2}) << "not a peer";
  EXPECT_EQ(choose(kCpu), ResidencyChoice{kCpu}) << "the CPU cannot reach GPU memory";
}

TEST_F(Residency, Rule5AccessedByLeavesThePageWhereItIs) {
  block.policy.accessed_by.insert(kGpu0);
  put(kCpu);
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kCpu});
  put(kGpu1);
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kGpu1}) << "a fast link is nearer than the host";
}

TEST_F(Residency, Rule5NeedsAccess) {
  block.policy.accessed_by.insert(kGpu2);
  put(kGpu0);
  EXPECT_EQ(choose(kGpu2), ResidencyChoice{kGpu2});
}

TEST_F(Residency, Rule7PagesMoveToOrStayAtAReachablePreferredLocation) {
  block.policy.preferred_location = kCpu;
  put(kCpu);
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kCpu}) << "stays: GPU 0 maps it remotely";
  block.policy.preferred_location = kGpu1;
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kGpu1}) << "moves from the host to the peer";
}

TEST_F(Residency, Rule7DoesNotApplyToPagesTheFaulterHolds) {
  block.policy.preferred_location = kCpu;
  put(kGpu0);
  EXPECT_EQ(choose(kGpu0), ResidencyChoice{kGpu0});
}

TEST_F(Residency, Rule9OtherwiseThePageMigrates) {
  put(kGpu0);
  EXPECT_EQ(choose(kGpu1), ResidencyChoice{kGpu1}) << "peers without advice migrate, too";
  EXPECT_EQ(choose(kCpu), ResidencyChoice{kCpu});
}

// DGX-1 style: 0-1 and 1-2 are linked, 0-2 only through GPU 1, which forwards nothing.
TEST(Topology, PeersAreDirectlyLinkedOrShareSwitches) {
  Machine chain = small_machine(64_MiB, 3);
  add_nvlink(chain, 0, 1);
  add_nvlink(chain, 1, 2);
  EXPECT_FALSE(Topology(chain).fast_link(kGpu0, kGpu2));
  EXPECT_TRUE(Topology(chain).fast_link(kGpu0, kGpu1));
  Machine switched = small_machine(64_MiB, 3);
  for (const char* gpu : {"gpu0", "gpu2"}) {
    LinkSpec link;
    link.kind = "nvlink";
    link.from = "switch0";
    link.to = gpu;
    switched.links.push_back(link);
  }
  EXPECT_TRUE(Topology(switched).fast_link(kGpu0, kGpu2));
  EXPECT_FALSE(Topology(switched).can_access(kGpu0, kGpu1));
}

}  // namespace
}  // namespace uvmsim
