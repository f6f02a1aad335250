// Bandwidth and who shares it. One SimGrid engine per process: ctest runs every test alone.
#include "engine/fabric.h"

#include <gtest/gtest.h>
#include <set>

#include "engine/clock.h"

namespace uvmsim {
namespace {

constexpr BytesPerSecond kGBps{1'000'000'000};
constexpr Bytes kMB{1'000'000};

// memory0 - socket0 - switch0 - gpu0, gpu1 and socket0 - switch1 - gpu2; every hop 10 GB/s each way, but
// memory at 100.
Machine tree() {
  Machine m;
  m.gpus.resize(3);
  const auto hop = [&](const std::string& name, const std::string& from, const std::string& to, BytesPerSecond rate) {
    LinkSpec link;
    link.name = name;
    link.kind = "pcie";
    link.from = from;
    link.to = to;
    link.down = link.up = rate;
    m.links.push_back(link);
  };
  hop("memory0", "memory0", "socket0", kGBps * 100);
  hop("uplink0", "socket0", "switch0", kGBps * 10);
  hop("uplink1", "socket0", "switch1", kGBps * 10);
  hop("pcie0", "switch0", "gpu0", kGBps * 10);
  hop("pcie1", "switch0", "gpu1", kGBps * 10);
  hop("pcie2", "switch1", "gpu2", kGBps * 10);
  return m;
}

struct Sent {
  const Route* route;
  Bytes size;
  Time start{}, end{};
  Duration excess{};
};

void play(Fabric& fabric, std::vector<Sent>& transfers) {
  for (Sent& t : transfers) {
    scheduler().spawn("transfer", [&fabric, &t] {
      sleep_until(t.start);
      t.excess = fabric.transfer(*t.route, t.size);
      t.end = now();
    });
  }
  EXPECT_TRUE(fabric.flows().run_actors());
}

double ms(Time t) { return seconds(t) * 1e3; }

// 100 MB at 10 GB/s is 10 ms: no TCP model, no latency.
TEST(Fabric, OneTransferTakesBytesOverBandwidth) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-6);
  EXPECT_EQ(t[0].excess.count() / 1000, 0);
}

// gpu0 and gpu1 share uplink0: 100 MB each at 5 GB/s, 20 ms, of which 10 were waiting for the link. gpu2, behind
// another switch, shares nothing: 10 ms.
TEST(Fabric, TwoGpusOnOneSwitchShareItsUplink) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100},
                      {&fabric.to_gpu(GpuIndex{1}), kMB * 100},
                      {&fabric.to_gpu(GpuIndex{2}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 20, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 20, 1e-3);
  EXPECT_NEAR(ms(t[2].end), 10, 1e-3);
  EXPECT_NEAR(seconds(t[0].excess) * 1e3, 10, 1e-3);
}

// The same with unlimited links: nobody waits.
TEST(Fabric, UnlimitedLinksAreNeverShared) {
  const Machine m = tree();
  Fabric fabric(m, true);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}, {&fabric.to_gpu(GpuIndex{1}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
}

// gpu0 - gpu1 crosses 2 hops, memory0 - gpu1 crosses 3: on the hop they share both get half. (A link with latency would
// give the shorter route more.) 100 MB each over pcie1 down: 20 ms.
TEST(Fabric, SharingIsEqualOnUnequalRoutes) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.between(GpuIndex{0}, GpuIndex{1}), kMB * 100}, {&fabric.to_gpu(GpuIndex{1}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 20, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 20, 1e-3);
}

// Full duplex: both directions at once take as long as one.
TEST(Fabric, DirectionsAreIndependentUnlessTheMachineSaysOtherwise) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}, {&fabric.from_gpu(GpuIndex{0}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
}

// pcie0 carries 8 GB/s down and 5 up while both are busy, 10 alone. Up: 40 MB at 5 GB/s, 8 ms. Down: 64 MB in those 8
// ms, the other 36 MB at 10 GB/s: 11.6 ms.
TEST(Fabric, DuplexCapacityHoldsWhileBothDirectionsAreBusy) {
  Machine m = tree();
  m.links[3].down_duplex = kGBps * 8;
  m.links[3].up_duplex = kGBps * 5;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}, {&fabric.from_gpu(GpuIndex{0}), kMB * 40}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[1].end), 8, 1e-3);
  EXPECT_NEAR(ms(t[0].end), 11.6, 1e-3);
}

// Two flows together reach 80 % of uplink0: 2 x 40 MB at 8 GB/s, 10 ms. One alone has all of it.
TEST(Fabric, SameDirectionEfficiencyDependsOnTheNumberOfFlows) {
  Machine m = tree();
  m.links[1].sharing_efficiency = {1, 0.8};
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 40}, {&fabric.to_gpu(GpuIndex{1}), kMB * 40}};
  t.push_back({&fabric.to_gpu(GpuIndex{0}), kMB * 100, from_seconds(0.02)});
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[2].end), 30, 1e-3);
}

// memory0 carries 100 GB/s either way, but 12 in all: 60 MB each way at 6 GB/s, 10 ms. One way alone has pcie0's 10
// GB/s.
TEST(Fabric, BothDirectionsShareALinkThatLimitsTheirSum) {
  Machine m = tree();
  m.links[0].both = kGBps * 12;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 60}, {&fabric.from_gpu(GpuIndex{2}), kMB * 60}};
  t.push_back({&fabric.to_gpu(GpuIndex{0}), kMB * 100, from_seconds(0.02)});
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[2].end), 30, 1e-3);
}

// Page by page 4 GB/s, in bulk the link's 10: 40 MB take 10 and 4 ms.
TEST(Fabric, BulkCopiesRunAtTheSpeedOfTheLink) {
  Machine m = tree();
  m.gpus[GpuIndex{0}].copy.h2d_bandwidth = m.gpus[GpuIndex{0}].copy.d2h_bandwidth = kGBps * 4;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 40},
                      {&fabric.bulk_to_gpu(GpuIndex{0}), kMB * 40, from_seconds(0.02)},
                      {&fabric.bulk_from_gpu(GpuIndex{0}), kMB * 40, from_seconds(0.04)}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 24, 1e-3);
  EXPECT_NEAR(ms(t[2].end), 44, 1e-3);
}

// A copy engine that does 4 GB/s leaves 6 of the 10 GB/s to the other: 24 MB take 6 ms, 36 MB take 6 ms.
TEST(Fabric, ASlowCopyEngineLeavesTheRestToOthers) {
  Machine m = tree();
  m.gpus[GpuIndex{0}].copy.h2d_bandwidth = kGBps * 4;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 24}, {&fabric.to_gpu(GpuIndex{1}), kMB * 36}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 6, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 6, 1e-3);
  EXPECT_EQ(t[0].excess.count() / 1000, 0);
}

// gpu0 and gpu1 hang on one NVLink switch, gpu2 does not: 2 hops of 50 GB/s, 100 MB in 2 ms. From gpu1 to gpu2 it is 4
// hops over PCIe, not 2 of NVLink and GPUs that forward.
TEST(Fabric, NvlinkSwitchesJoinGpus) {
  Machine m = tree();
  for (const char* gpu : {"gpu0", "gpu1"}) {
    LinkSpec link;
    link.name = std::string("nvlink to ") + gpu;
    link.kind = "nvlink";
    link.from = "switch7";
    link.to = gpu;
    link.down = link.up = kGBps * 50;
    m.links.push_back(link);
  }
  Fabric fabric(m, false);
  EXPECT_TRUE(fabric.has_nvlink(GpuIndex{0}, GpuIndex{1}));
  EXPECT_FALSE(fabric.has_nvlink(GpuIndex{1}, GpuIndex{2}));
  EXPECT_EQ(fabric.between(GpuIndex{1}, GpuIndex{2}).hops.size(), 4u);
  std::vector<Sent> t{{&fabric.between(GpuIndex{0}, GpuIndex{1}), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 2, 1e-3);
}

// gpu2 moves to a socket of its own. By default peers are those below one socket; NVLink joins any two.
std::set<std::pair<int, int>> peers(const std::string& peer_access) {
  Machine m = tree();
  m.links[2].from = "socket1";
  LinkSpec link;
  link.name = "qpi";
  link.kind = "socket";
  link.from = "socket0";
  link.to = "socket1";
  link.down = link.up = kGBps * 10;
  m.links.push_back(link);
  link.name = "nvlink";
  link.kind = "nvlink";
  link.from = "gpu0";
  link.to = "gpu2";
  m.links.push_back(link);
  m.peer_access = peer_access;
  const Fabric fabric(m, false);
  std::set<std::pair<int, int>> pairs;
  for (int a = 0; a < 3; ++a)
    for (int b = a + 1; b < 3; ++b)
      if (fabric.peers(GpuIndex{a}, GpuIndex{b})) pairs.insert({a, b});
  return pairs;
}
using Pairs = std::set<std::pair<int, int>>;
TEST(Fabric, PeersAreNvlinkedOrBelowOneSocket) { EXPECT_EQ(peers("socket"), (Pairs{{0, 1}, {0, 2}})); }
TEST(Fabric, PeersCanBeNvlinkedOnly) { EXPECT_EQ(peers("nvlink"), (Pairs{{0, 2}})); }
TEST(Fabric, PeersCanBeAnyTwo) { EXPECT_EQ(peers("any"), (Pairs{{0, 1}, {0, 2}, {1, 2}})); }
TEST(Fabric, PeersCanBeSwitchedOff) { EXPECT_EQ(peers("none"), Pairs{}); }

// 100 MB in 10 ms, then idle until 20: uplink0 down was busy half of the time and carried 100 MB; up carried nothing.
TEST(Fabric, UsageCountsBytesAndBusyTime) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}};
  play(fabric, t);
  const auto usage = fabric.usage(Time{}, from_seconds(0.02));
  const auto find = [&](const std::string& name) {
    return *std::find_if(usage.begin(), usage.end(), [&](const auto& u) { return u.name == name; });
  };
  EXPECT_EQ(find("uplink0 down").bytes, 100'000'000);
  EXPECT_NEAR(find("uplink0 down").busy_fraction, 0.5, 1e-6);
  EXPECT_EQ(find("uplink0 up").bytes, 0);
  EXPECT_EQ(find("pcie1 down").bytes, 0);
}

// 100 MB each to gpu0 and gpu1: 20 ms instead of 10 on the uplink that they share, 10 lost by each. gpu2 loses none.
TEST(Fabric, WhatCopiesLoseToSharingIsTheSharedLinks) {
  const Machine m = tree();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100},
                      {&fabric.to_gpu(GpuIndex{1}), kMB * 100},
                      {&fabric.to_gpu(GpuIndex{2}), kMB * 100}};
  play(fabric, t);
  for (const LinkDirectionResult& link : fabric.usage(Time{}, from_seconds(0.02)))
    EXPECT_NEAR(link.contention_s, link.name == "uplink0 down" ? 0.020 : 0, 1e-6) << link.name;
}

// pcie0 carries 5 GB/s while both of its directions are busy, uplink0 is as fast as ever: 20 ms each way, 10 lost each
// way on pcie0.
TEST(Fabric, WhatTheOtherDirectionCostsIsLostOnThatLink) {
  Machine m = tree();
  m.links[3].down_duplex = m.links[3].up_duplex = kGBps * 5;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_gpu(GpuIndex{0}), kMB * 100}, {&fabric.from_gpu(GpuIndex{0}), kMB * 100}};
  play(fabric, t);
  for (const LinkDirectionResult& link : fabric.usage(Time{}, from_seconds(0.02)))
    EXPECT_NEAR(link.contention_s, link.name.starts_with("pcie0") ? 0.010 : 0, 1e-6) << link.name;
}

// The tree with an SSD of 3 GB/s in and 2 out on a 10 GB/s link of its socket, NVLink of 50 GB/s between gpu0 and gpu1,
// and gpu1's memory as a node for the others.
Machine with_memories() {
  Machine m = tree();
  const auto hop = [&](const std::string& kind, const std::string& from, const std::string& to, BytesPerSecond rate) {
    LinkSpec link;
    link.name = link.kind = kind;
    link.from = from;
    link.to = to;
    link.down = link.up = rate;
    m.links.push_back(link);
  };
  hop("pcie", "socket0", "ssd0", kGBps * 10);
  hop("nvlink", "gpu0", "gpu1", kGBps * 50);
  const auto node = [&](const std::string& kind, const std::string& name, BytesPerSecond read, BytesPerSecond write) {
    m.memories.push_back({.name = "my " + kind, .kind = kind, .node = name, .read = read, .write = write});
  };
  node("ssd", "ssd0", kGBps * 3, kGBps * 2);
  node("gpu", "gpu1", {}, {});
  node("dram", "memory0", {}, {});
  return m;
}

// gpu0 and gpu2 share no link, but the SSD: 30 MB each at 1.5 GB/s, 20 ms. Meanwhile gpu1 writes 40 MB at 2 GB/s.
TEST(Fabric, GpusShareTheRateOfASsd) {
  const Machine m = with_memories();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.from_memory(GpuIndex{0}, 0), kMB * 30},
                      {&fabric.from_memory(GpuIndex{2}, 0), kMB * 30},
                      {&fabric.to_memory(GpuIndex{1}, 0), kMB * 40}};
  play(fabric, t);
  for (const Sent& transfer : t) EXPECT_NEAR(ms(transfer.end), 20, 1e-3);
  EXPECT_NEAR(seconds(t[0].excess) * 1e3, 10, 1e-3);
  EXPECT_NEAR(seconds(t[2].excess) * 1e3, 0, 1e-3);
}

// What they lose to each other is the SSD's, which stands behind the links.
TEST(Fabric, AMemorysRatesAreLinksOfTheResult) {
  const Machine m = with_memories();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.from_memory(GpuIndex{0}, 0), kMB * 30}, {&fabric.from_memory(GpuIndex{2}, 0), kMB * 30}};
  play(fabric, t);
  const auto usage = fabric.usage(Time{}, from_seconds(0.02));
  ASSERT_EQ(usage.size(), 2 * m.links.size() + 2);
  const LinkDirectionResult& read = usage[2 * m.links.size()];
  EXPECT_EQ(read.name, "my ssd read");
  EXPECT_EQ(read.bytes, 60'000'000);
  EXPECT_EQ(read.bandwidth, 3e9);
  EXPECT_NEAR(read.busy_fraction, 1, 1e-6);
  EXPECT_NEAR(read.contention_s, 0.020, 1e-6);
  EXPECT_EQ(usage.back().name, "my ssd write");
  EXPECT_EQ(usage.back().bytes, 0);
}

// One transfer at a time: 30 MB in 10 ms, then the other 30 MB from 10 to 20 ms, of which it waited 10.
TEST(Fabric, TransfersQueueForAMemory) {
  Machine m = with_memories();
  m.memories[0].queue_depth = 1;
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.from_memory(GpuIndex{0}, 0), kMB * 30}, {&fabric.from_memory(GpuIndex{2}, 0), kMB * 30}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 20, 1e-3);
  EXPECT_NEAR(seconds(t[0].excess) * 1e3, 0, 1e-3);
  EXPECT_NEAR(seconds(t[1].excess) * 1e3, 10, 1e-3);
}

TEST(Fabric, UnlimitedMemoriesAreNeverSharedNorQueuedFor) {
  Machine m = with_memories();
  m.memories[0].queue_depth = 1;
  Fabric fabric(m, true);
  std::vector<Sent> t{{&fabric.from_memory(GpuIndex{0}, 0), kMB * 30}, {&fabric.from_memory(GpuIndex{2}, 0), kMB * 30}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 10, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
}

// 100 MB to gpu1's memory: over NVLink from gpu0 in 2 ms, over PCIe from gpu2 in 10 ms.
TEST(Fabric, APeersMemoryIsReachedOverNvlinkWhereThereIsOne) {
  const Machine m = with_memories();
  Fabric fabric(m, false);
  std::vector<Sent> t{{&fabric.to_memory(GpuIndex{0}, 1), kMB * 100}, {&fabric.to_memory(GpuIndex{2}, 1), kMB * 100}};
  play(fabric, t);
  EXPECT_NEAR(ms(t[0].end), 2, 1e-3);
  EXPECT_NEAR(ms(t[1].end), 10, 1e-3);
}

// Host memory without a rate of its own is what explicit copies always went to.
TEST(Fabric, CopiesToHostMemoryAreBulkCopies) {
  const Machine m = with_memories();
  const Fabric fabric(m, false);
  for (const GpuIndex gpu : m.gpus.indices()) {
    EXPECT_EQ(fabric.to_memory(gpu, 2).hops, fabric.bulk_from_gpu(gpu).hops);
    EXPECT_EQ(fabric.from_memory(gpu, 2).hops, fabric.bulk_to_gpu(gpu).hops);
  }
}

}  // namespace
}  // namespace uvmsim
