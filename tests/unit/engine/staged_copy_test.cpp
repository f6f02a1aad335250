// Copies between GPUs without peer access. One SimGrid engine per process: ctest runs every test alone.
#include "engine/staged_copy.h"

#include <gtest/gtest.h>

#include "engine/run.h"

namespace uvmsim {
namespace {

// Two GPUs on links of their own, 10 GB/s to the GPU and 20 to the host; staging buffers of 100 MB: 5 ms out, 10 ms in.
Machine two_gpus(Duration handover) {
  Machine m;
  m.gpus.resize(2);
  for (GpuSpec& gpu : m.gpus) gpu.usable_memory = Bytes{1 << 30};
  const auto hop = [&](const std::string& name, const std::string& from, const std::string& to, std::int64_t factor) {
    LinkSpec link;
    link.name = name;
    link.kind = "pcie";
    link.from = from;
    link.to = to;
    link.down = BytesPerSecond{10'000'000'000 * factor};
    link.up = BytesPerSecond{20'000'000'000 * factor};
    m.links.push_back(link);
  };
  hop("memory0", "memory0", "socket0", 10);
  hop("pcie0", "socket0", "gpu0", 1);
  hop("pcie1", "socket0", "gpu1", 1);
  m.peer_access = "none";
  m.host.runtime.staging_chunk = Bytes{100'000'000};
  m.host.runtime.staging_handover = handover;
  return m;
}

// One iteration: `bytes` from gpu0 to gpu1.
Result copied(const Machine& machine, std::int64_t bytes) {
  Program program;
  program.ops.push_back(op::Iteration{0});
  op::Copy copy{};
  copy.direction = trace::CopyDirection::PeerToPeer;
  copy.bytes = bytes;
  copy.peer = DeviceOrdinal{1};
  copy.asynchronous = true;
  program.ops.push_back(copy);
  const Process process{&program, {GpuIndex{0}, GpuIndex{1}}};
  return run(machine, {&process, 1}, {.warmup = 0, .progress = {}});
}

// Three chunks. Out: 0 to 5, 5 to 10, then the first buffer, fetched at 16 and handed back at 17: 17 to 22. In, each 1
// ms after it was out: 6 to 16, 16 to 26, 26 to 36.
TEST(StagedCopy, AlternatesBetweenTwoBuffers) {
  EXPECT_NEAR(copied(two_gpus(microseconds(1000)), 300'000'000).duration_s, 36e-3, 1e-6);
}

// With 12 ms to hand over, the third chunk waits for its buffer: out 0 to 5 and 5 to 10; in 17 to 27 and 27 to 37; out
// again 39 to 44; in 56 to 66.
TEST(StagedCopy, WaitsForABufferToComeBack) {
  EXPECT_NEAR(copied(two_gpus(microseconds(12000)), 300'000'000).duration_s, 66e-3, 1e-6);
}

// A last chunk of 20 MB: out by 6, in 16 to 18.
TEST(StagedCopy, CountsAsACopyOfEitherGpu) {
  const Result r = copied(two_gpus(microseconds(1000)), 120'000'000);
  EXPECT_NEAR(r.duration_s, 18e-3, 1e-6);
  ASSERT_EQ(r.gpus.size(), 2u);
  EXPECT_EQ(r.gpus[0].counts.memcpy_d2h_bytes, 120'000'000);
  EXPECT_EQ(r.gpus[0].counts.memcpy_h2d_bytes, 0);
}

// With peer access it does not touch host memory: 10 GB/s, 30 ms.
TEST(StagedCopy, IsNotNeededBetweenPeers) {
  Machine m = two_gpus(microseconds(1000));
  m.peer_access = "socket";
  const Result r = copied(m, 300'000'000);
  EXPECT_NEAR(r.duration_s, 30e-3, 1e-6);
  EXPECT_EQ(r.links.front().name, "memory0 down");
  EXPECT_EQ(r.links.front().bytes, 0);
}

}  // namespace
}  // namespace uvmsim
