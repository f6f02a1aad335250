// Who meets whom in collectives, sends and receives. One SimGrid engine per process: ctest runs every test alone.
#include "engine/collective.h"

#include <gtest/gtest.h>

#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using trace::Collective;

constexpr std::int64_t kBytes = 100'000'000;

// What one all-reduce of 100 MB over four GPUs takes: 2 x 3/4 x 100 MB over each link, at 10 GB/s.
constexpr double kFour = 15e-3;

TEST(Collectives, ARingOfFourTakesItsTime) {
  Program p = one_iteration();
  for (int g = 0; g < 4; ++g) p.ops.push_back(collective(Collective::AllReduce, g, kBytes));
  EXPECT_NEAR(run_on(star(4), p).duration_s, kFour, 1e-8);
}

// As one ring of eight they would take 2 x 7/8 x 10 ms = 17.5 ms.
TEST(Collectives, TwoCommunicatorsOfFourGpusTakeAsLongAsOne) {
  Program p = one_iteration();
  for (int g = 0; g < 8; ++g) p.ops.push_back(collective(Collective::AllReduce, g, kBytes, g / 4));
  const Result r = run_on(star(8), p);
  ASSERT_EQ(r.gpus.size(), 8u);
  for (const GpuResult& gpu : r.gpus) EXPECT_NEAR(gpu.duration_s, kFour, 1e-8);
}

TEST(Collectives, FourRanksOfEightReplicasAreTwoRings) {
  Program p = one_iteration();
  op::Collective c = collective(Collective::AllReduce, 0, kBytes);
  c.ranks = 4;
  p.ops.push_back(c);
  std::vector<Process> replicas;
  for (int g = 0; g < 8; ++g) replicas.push_back({&p, {GpuIndex{g}}});
  const Result r = run(star(8), replicas, {.warmup = 0, .progress = {}});
  ASSERT_EQ(r.gpus.size(), 8u);
  for (const GpuResult& gpu : r.gpus) EXPECT_NEAR(gpu.duration_s, kFour, 1e-8);
}

// More ranks than replicas: the trace was captured on more GPUs. 2 x 1/2 x 10 ms.
TEST(Collectives, FourRanksOfTwoReplicasAreOneRing) {
  Program p = one_iteration();
  op::Collective c = collective(Collective::AllReduce, 0, kBytes);
  c.ranks = 4;
  p.ops.push_back(c);
  const std::vector<Process> replicas{{&p, {GpuIndex{0}}}, {&p, {GpuIndex{1}}}};
  EXPECT_NEAR(run(star(2), replicas, {.warmup = 0, .progress = {}}).duration_s, 10e-3, 1e-8);
}

// One process out of four is simulated alone: what its all-reduce took among four, 3 ms, stands for the others.
TEST(Collectives, OneRankOfFourTakesWhatWasRecorded) {
  Program p = one_iteration();
  op::Collective c = collective(Collective::AllReduce, 0, kBytes);
  c.ranks = 4;
  c.recorded = std::chrono::milliseconds(3);
  p.ops.push_back(c);
  EXPECT_NEAR(run_on(star(1), p).duration_s, 3e-3, 1e-8);
}

// GPU 7 is 50 ms late: its ring ends at 50 + 15 ms, the other one at 15 ms.
TEST(Collectives, AGroupDoesNotWaitForTheOther) {
  Program p = one_iteration();
  p.ops.push_back(kernel(7, 50));
  for (int g = 0; g < 8; ++g) p.ops.push_back(collective(Collective::AllReduce, g, kBytes, g / 4));
  const Result r = run_on(star(8), p);
  EXPECT_NEAR(r.gpus.at(0).duration_s, kFour, 1e-8);
  EXPECT_NEAR(r.gpus.at(4).duration_s, 50e-3 + kFour, 1e-8);
}

// GPU 0 issues A on stream 1, behind a kernel of 5 ms, and B on stream 2; GPU 1 issues both on stream 1. A meets A: 5
// to 15 ms; B meets B: 1 ms more.
TEST(Collectives, MeetInTheOrderOfIssueOnWhateverStreams) {
  Program p = one_iteration();
  p.ops.push_back(kernel(0, 5, 1));
  p.ops.push_back(collective(Collective::AllReduce, 0, kBytes, 0, 1));
  p.ops.push_back(collective(Collective::AllReduce, 0, kBytes / 10, 0, 2));
  p.ops.push_back(op::EventRecord{0, 2});
  p.ops.push_back(op::EventWait{0, 0});
  p.ops.push_back(collective(Collective::AllReduce, 1, kBytes, 0, 1));
  p.ops.push_back(collective(Collective::AllReduce, 1, kBytes / 10, 0, 1));
  const Result r = run_on(star(2), p);
  ASSERT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_NEAR(r.gpus.at(0).duration_s, 16e-3, 1e-8);
}

// GPUs 0 and 2, 1 and 3: 2 x 1/2 x 10 ms. GPU 3 is 50 ms late, and so is GPU 1.
TEST(Collectives, RanksAtAStrideMeetEachOther) {
  Program p = one_iteration();
  p.ops.push_back(kernel(3, 50));
  for (int g = 0; g < 4; ++g) {
    op::Collective c = collective(Collective::AllReduce, g, kBytes);
    c.ranks = c.stride = 2;
    p.ops.push_back(c);
  }
  const Result r = run_on(star(4), p);
  for (const std::size_t g : {0u, 2u}) EXPECT_NEAR(r.gpus.at(g).duration_s, 10e-3, 1e-8);
  for (const std::size_t g : {1u, 3u}) EXPECT_NEAR(r.gpus.at(g).duration_s, 60e-3, 1e-8);
}

// An all-reduce of two GPUs on a stream and communicator of its own, after a kernel of `after` ms.
void add_with_priority(Program& p, std::int32_t stream, std::int32_t priority, double after, std::int64_t droppable) {
  for (int g = 0; g < 2; ++g) {
    if (after > 0) p.ops.push_back(kernel(g, after, stream));
    op::Collective c = collective(Collective::AllReduce, g, kBytes, stream, stream);
    c.priority = priority;
    c.droppable = droppable;
    p.ops.push_back(c);
  }
}

// The iteration ends when `stream` does.
void end_with(Program& p, std::int32_t stream) {
  p.ops.push_back(op::EventRecord{0, stream});
  p.ops.push_back(op::EventWait{0, 0});
}

// The first takes from 0 to 10 ms. Of the two that come meanwhile, after kernels of 1 ms each, the one of priority 1
// goes first: to 20 ms, and the kernel of 50 ms behind it ends at 70. Sharing the links, all three would end at 30.
TEST(Collectives, TheLeastPriorityGoesFirstAndAlone) {
  Program p = one_iteration();
  add_with_priority(p, 1, 7, 0, 0);
  add_with_priority(p, 2, 2, 1, 0);
  add_with_priority(p, 3, 1, 1, 0);
  for (int g = 0; g < 2; ++g) p.ops.push_back(kernel(g, 50, 3));
  end_with(p, 3);
  EXPECT_NEAR(run_on(star(2), p).duration_s, 70e-3, 1e-8);
}

// What follows directly is another communicator's: nobody waits for the first one to come back. 10 + 10 ms.
TEST(Collectives, ATurnIsNotKeptForWhatDoesNotCome) {
  Program p = one_iteration();
  for (const std::int32_t communicator : {1, 2})
    for (int g = 0; g < 2; ++g) {
      op::Collective c = collective(Collective::AllReduce, g, kBytes, communicator, 1);
      c.priority = 0;
      p.ops.push_back(c);
    }
  end_with(p, 1);
  const Result r = run_on(star(2), p);
  EXPECT_EQ(r.outcome, Outcome::Completed) << r.detail;
  EXPECT_NEAR(r.duration_s, 20e-3, 1e-8);
}

// The first finds the way free and is sent whole, in 10 ms. The second one waits: half of it is dropped, 5 ms.
TEST(Collectives, WhatMayBeDroppedIsWhenOthersWait) {
  Program p = one_iteration();
  add_with_priority(p, 1, 0, 0, kBytes / 2);
  add_with_priority(p, 2, 0, 1, kBytes / 2);
  end_with(p, 2);
  EXPECT_NEAR(run_on(star(2), p).duration_s, 15e-3, 1e-8);
}

TEST(Collectives, RanksThatDisagreeNeverMeet) {
  Program p = one_iteration();
  p.ops.push_back(collective(Collective::AllReduce, 0, kBytes, 3));
  p.ops.push_back(collective(Collective::Broadcast, 1, kBytes, 3));
  const Result r = run_on(star(2), p);
  EXPECT_EQ(r.outcome, Outcome::Deadlock);
  for (const char* who : {"gpu0", "gpu1"})
    EXPECT_NE(r.detail.find(std::string(who) + " stream 0 waits for the other ranks of a collective of communicator 3"),
              std::string::npos)
        << r.detail;
}

// --- sends and receives

// 100 MB at 10 GB/s are 10 ms. GPU 2 computes for 1 ms and takes part in nothing.
TEST(PointToPoint, TakesTheBytesOverTheRateAndLeavesOthersAlone) {
  Program p = one_iteration();
  p.ops.push_back(send(0, 1, kBytes));
  p.ops.push_back(receive(1, 0, kBytes));
  p.ops.push_back(kernel(2, 1));
  const Result r = run_on(star(3), p);
  EXPECT_NEAR(r.gpus.at(0).duration_s, 10e-3, 1e-8);
  EXPECT_NEAR(r.gpus.at(1).duration_s, 10e-3, 1e-8);
  EXPECT_NEAR(r.gpus.at(2).duration_s, 1e-3, 1e-8);
  std::int64_t bytes = 0;
  for (const LinkDirectionResult& link : r.links) bytes += link.bytes;
  EXPECT_EQ(bytes, 2 * kBytes);  // up pcie0, down pcie1: once
}

// The sender comes 5 ms late, then 10 ms.
TEST(PointToPoint, WaitsForTheLater) {
  Program p = one_iteration();
  p.ops.push_back(receive(1, 0, kBytes));
  p.ops.push_back(kernel(0, 5));
  p.ops.push_back(send(0, 1, kBytes));
  const Result r = run_on(star(2), p);
  EXPECT_NEAR(r.gpus.at(0).duration_s, 15e-3, 1e-8);
  EXPECT_NEAR(r.gpus.at(1).duration_s, 15e-3, 1e-8);
}

// On streams of their own both ways go at once over full-duplex links.
TEST(PointToPoint, BothWaysOverlapOnStreamsOfTheirOwn) {
  Program p = one_iteration();
  for (int g = 0; g < 2; ++g) {
    p.ops.push_back(send(g, 1 - g, kBytes, 0));
    p.ops.push_back(receive(g, 1 - g, kBytes, 1));
  }
  EXPECT_NEAR(run_on(star(2), p).duration_s, 10e-3, 1e-8);
}

TEST(PointToPoint, TwoThatSendFirstWaitForEver) {
  Program p = one_iteration();
  for (int g = 0; g < 2; ++g) {
    p.ops.push_back(send(g, 1 - g, kBytes));
    p.ops.push_back(receive(g, 1 - g, kBytes));
  }
  const Result r = run_on(star(2), p);
  EXPECT_EQ(r.outcome, Outcome::Deadlock);
  EXPECT_NE(r.detail.find("gpu0 stream 0 waits for a receive on gpu1 in communicator 0 from gpu0"), std::string::npos)
      << r.detail;
}

// Without peer access: two chunks of 100 MB through host memory, each 10 ms out and 10 ms in; the second goes out while
// the first comes in: 10 + 10 + 10 ms.
TEST(PointToPoint, IsStagedThroughHostMemoryWithoutPeerAccess) {
  Machine m = star(2);
  m.peer_access = "none";
  m.host.runtime.staging_chunk = Bytes{kBytes};
  Program p = one_iteration();
  p.ops.push_back(send(0, 1, 2 * kBytes));
  p.ops.push_back(receive(1, 0, 2 * kBytes));
  const Result r = run_on(m, p);
  EXPECT_NEAR(r.gpus.at(0).duration_s, 30e-3, 1e-6);
  EXPECT_NEAR(r.gpus.at(1).duration_s, 30e-3, 1e-6);
}

// --- coordinated collectives

// Lets one transfer at a time have the machine's links, the longest waiting first.
class OneAtATime final : public Coordinator {
 public:
  explicit OneAtATime(bool collectives) : collectives_(collectives) {}
  bool coordinates_collectives() const override { return collectives_; }
  Time admit(const SwapCopy& copy, std::span<const SwapCopy> waiting, std::span<const SwapCopy> under_way,
             Time now) const override {
    EXPECT_EQ(copy.peer, GpuIndex{(copy.gpu.value + 1) % 4});
    EXPECT_EQ(copy.bytes, Bytes{3 * kBytes / 2});
    return under_way.empty() && copy.number == waiting.front().number ? now : kNever;
  }

 private:
  const bool collectives_;
};

class OneAtATimeFactory final : public CoordinatorFactory {
 public:
  explicit OneAtATimeFactory(bool collectives) : collectives_(collectives) {}
  bool takes_turns() const override { return false; }
  std::unique_ptr<Coordinator> make(std::vector<SharedLink>) const override {
    return std::make_unique<OneAtATime>(collectives_);
  }

 private:
  const bool collectives_;
};

double coordinated(bool collectives) {
  Program p = one_iteration();
  for (int g = 0; g < 4; ++g) p.ops.push_back(collective(Collective::AllReduce, g, kBytes));
  const OneAtATimeFactory kind(collectives);
  RunOptions options;
  options.coordinator = &kind;
  return run_on(star(4), p, options).duration_s;
}

// The four transfers of 15 ms one after the other.
TEST(Collectives, ACoordinatorThatWantsToHoldsTheirTransfersBack) { EXPECT_NEAR(coordinated(true), 60e-3, 1e-8); }

TEST(Collectives, OtherCoordinatorsAreNotAsked) { EXPECT_NEAR(coordinated(false), kFour, 1e-8); }

}  // namespace
}  // namespace uvmsim
