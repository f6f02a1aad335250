// Thrashing (driver specification, section 5): detection, throttling, pinning, and what does not count.
#include "uvm/thrashing.h"

#include <gtest/gtest.h>

#include "support/driver_fixture.h"

namespace uvmsim {
namespace {

using namespace test;

// The CPU and the GPU take turns writing page 0, every `gap`.
struct PingPong {
  explicit PingPong(const Machine& machine, Duration every) : d(machine), gap(every) { d.cpu_touch(0, 512); }
  const BlockWork& gpu() { return d.fault(0, {0}, AccessType::Write, now += gap); }
  const BlockWork& cpu() { return d.driver.cpu_fault(d.space, PageNumber{0}, AccessType::Write, now += gap); }

  Driver d;
  Duration gap;
  Time now{};
};

Machine machine_595() { return small_machine(16_MiB); }

// Migrations of page 0: to the GPU (no tracking yet), to the CPU (tracking starts, first event of the page), to
// the GPU (count 1), CPU (2), GPU (3: thrashing). The CPU's next fault, within the lapse, is the first requester of
// a throttling period, hence exempt: it migrates (4). The GPU then is throttled.
TEST(Thrashing, ThreeQuickMigrationsBackAndForthThrottle) {
  PingPong game(machine_595(), microseconds(100));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_TRUE(game.gpu().serviced) << turn;
    EXPECT_TRUE(game.cpu().serviced) << turn;
  }
  const BlockWork& work = game.gpu();
  EXPECT_TRUE(work.throttled);
  EXPECT_FALSE(work.serviced);
  game.d.driver.audit();
}

// Gaps longer than the lapse of 500 us are no fight.
TEST(Thrashing, SlowSharingMigratesForever) {
  PingPong game(machine_595(), microseconds(501));
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_TRUE(game.gpu().serviced);
    EXPECT_TRUE(game.cpu().serviced);
  }
}

TEST(Thrashing, CanBeSwitchedOff) {
  Machine machine = machine_595();
  machine.driver.uvm_perf_thrashing_enable = false;
  PingPong game(machine, microseconds(100));
  for (int turn = 0; turn < 50; ++turn) {
    EXPECT_TRUE(game.gpu().serviced);
    EXPECT_TRUE(game.cpu().serviced);
  }
}

// The CPU cannot reach GPU memory: in the end the page is pinned to the host, where both map it, and neither faults.
TEST(Thrashing, FightingEndsWithAPinThatBothMap) {
  PingPong game(machine_595(), microseconds(60));
  bool settled = false;
  for (int turn = 0; turn < 400 && !settled; ++turn) {
    const bool gpu_idle = game.d.fault(0, {0}, AccessType::Write, game.now += game.gap).faults_stale == 1;
    const bool cpu_idle = game.d.driver.cpu_can_access(game.d.space, PageNumber{0}, AccessType::Write);
    if (!cpu_idle) game.cpu();
    settled = gpu_idle && cpu_idle;
    game.d.driver.audit();
  }
  EXPECT_TRUE(settled);
  EXPECT_TRUE(game.d.on_cpu(0).test(0));

  // 150 ms later the pin ends: the next fault anywhere in the VaSpace takes the GPU's remote mapping away.
  const BlockWork& later = game.d.fault(0, {400}, AccessType::Write, game.now + microseconds(200'000));
  ASSERT_FALSE(later.unmap.empty());
  EXPECT_EQ(later.unmap[0].pages, pages(0, 1));
  EXPECT_TRUE(game.d.fault(0, {0}, AccessType::Write, game.now + microseconds(200'100)).serviced);
  EXPECT_TRUE(game.d.on_gpu(0).test(0));
}

// The page starts on the GPU. Times in us: 100 CPU (the block's first event), 200 GPU (tracking starts), 300 CPU
// (count 1), 400 GPU (2), 500 CPU (3: thrashing), 600 GPU: exempt until 600 + nap = 1100. At 700 the CPU is to sleep
// for the remaining 400 us.
TEST(Thrashing, AThrottledCpuSleepsUntilThePeriodEnds) {
  PingPong game(machine_595(), microseconds(100));
  game.d.driver.migrate(game.d.space, kManagedBase, 2_MiB, kGpu)->next();
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_TRUE(game.cpu().serviced) << turn;
    EXPECT_TRUE(game.gpu().serviced) << turn;
  }
  const BlockWork& work = game.cpu();
  EXPECT_TRUE(work.throttled);
  EXPECT_EQ(work.sleep, microseconds(400));
  EXPECT_TRUE(game.d.on_gpu(0).test(0));
}

// The hint itself, between the CPU and a GPU that cannot be reached from it.
struct Hint : testing::Test {
  ThrashingHint at(int microsecond, ProcessorId requester, ProcessorId closest) {
    ThrashingBlock::Fault fault;
    fault.requester = requester;
    fault.closest = closest;
    fault.now = microseconds(microsecond);
    return block.hint(fault, rules, topology, space);
  }
  void migrate(int microsecond, ProcessorId to) {
    block.note_migration(pages(0, 1), to, microseconds(microsecond), rules, space.lapse);
  }
  ThrashingRules rules{DriverConfig{}, driver_traits("580")};
  Topology topology{machine_595()};
  ThrashingSpace space{rules};
  ThrashingBlock block;
};

// Four migrations: the first sets the time, the next three count.
TEST_F(Hint, NeedsThreeEventsWithinTheLapse) {
  for (int event = 0; event < 3; ++event) migrate(10 * event, event % 2 ? kGpu : kCpu);
  EXPECT_TRUE(block.thrashing().none());
  EXPECT_EQ(at(25, kGpu, kCpu).kind, ThrashingHint::Kind::None);
  migrate(30, kGpu);
  EXPECT_EQ(block.thrashing(), pages(0, 1));
}

// The first requester of a period is exempt, the other waits for its end; the next period exempts nobody twice.
TEST_F(Hint, ThrottlesAllButOneUntilTheNapIsOver) {
  for (int event = 0; event < 4; ++event) migrate(10 * event, event % 2 ? kGpu : kCpu);
  EXPECT_EQ(at(40, kGpu, kCpu).kind, ThrashingHint::Kind::None);
  const ThrashingHint cpu = at(50, kCpu, kGpu);
  EXPECT_EQ(cpu.kind, ThrashingHint::Kind::Throttle);
  EXPECT_EQ(cpu.until, microseconds(540));
  EXPECT_EQ(at(530, kCpu, kGpu).kind, ThrashingHint::Kind::Throttle);
  EXPECT_EQ(at(541, kCpu, kGpu).kind, ThrashingHint::Kind::None) << "more than a lapse after the last event, 30 us";
}

// The GPU is exempt from 40 to 540 us. It is the first to fault after that, too, so that nobody is exempt at first:
// the GPU waits; the CPU, next, takes the free place.
TEST_F(Hint, NobodyIsExemptTwiceInARow) {
  for (int event = 0; event < 4; ++event) migrate(10 * event, event % 2 ? kGpu : kCpu);
  at(40, kGpu, kCpu);
  migrate(300, kCpu);
  EXPECT_EQ(at(541, kGpu, kCpu).kind, ThrashingHint::Kind::Throttle);
  EXPECT_EQ(at(542, kCpu, kGpu).kind, ThrashingHint::Kind::None);
}

// Explicit migration and duplication forget the page.
TEST_F(Hint, ResetPagesAreForgotten) {
  for (int event = 0; event < 4; ++event) migrate(10 * event, event % 2 ? kGpu : kCpu);
  block.reset(PageMask::all());
  EXPECT_TRUE(block.thrashing().none());
  EXPECT_EQ(at(40, kGpu, kCpu).kind, ThrashingHint::Kind::None);
}

// With a preferred location that all can reach, the page is pinned there at once.
TEST_F(Hint, PinsToAPreferredLocationAllCanReach) {
  for (int event = 0; event < 4; ++event) migrate(10 * event, event % 2 ? kGpu : kCpu);
  ThrashingBlock::Fault fault;
  fault.requester = kGpu;
  fault.closest = fault.preferred_location.emplace(kCpu);
  fault.now = microseconds(40);
  const ThrashingHint hint = block.hint(fault, rules, topology, space);
  EXPECT_EQ(hint.kind, ThrashingHint::Kind::Pin);
  EXPECT_EQ(hint.residency, kCpu);
  ASSERT_EQ(space.pins.size(), 1u);
  EXPECT_EQ(space.pins[0].deadline, microseconds(40 + 150'000)) << "300 lapses";
}

// As before, but at 650 us the GPU's only chunk is evicted, and page 0 goes home unmapped. The eviction changes
// nothing: the CPU is still throttled. An explicit migration, in contrast, forgets what was known.
TEST(Thrashing, EvictionsAreIgnoredAndExplicitMigrationsReset) {
  for (const bool evict : {true, false}) {
    Machine machine = machine_595();
    machine.gpus[GpuIndex{0}].usable_memory = 2_MiB;
    PingPong game(machine, microseconds(100));
    game.d.driver.allocate_managed(game.d.space, block_address(1), 2_MiB);
    game.d.driver.migrate(game.d.space, kManagedBase, 2_MiB, kGpu)->next();
    for (int turn = 0; turn < 3; ++turn) {
      game.cpu();
      game.gpu();
    }
    if (evict)
      game.d.fault(0, {page_in(1, 0)}, AccessType::Write, microseconds(650));
    else
      game.d.driver.migrate(game.d.space, kManagedBase, 2_MiB, kCpu)->next();
    EXPECT_TRUE(game.d.on_cpu(0).test(0));
    game.d.fault(0, {0}, AccessType::Write, microseconds(660));
    EXPECT_EQ(game.cpu().throttled, evict);
  }
}

// Page 0 thrashes, so a fault on page 5 beside it does not grow to 64 KiB: that moves one page. An epoch (1 s) after
// the last event the tracking is dropped, and a fault on page 6 moves the other 14 pages that are on the CPU.
TEST(Thrashing, IsForgottenAfterAnEpoch) {
  PingPong game(small_machine(16_MiB), microseconds(100));
  for (int turn = 0; turn < 3; ++turn) {
    game.gpu();
    game.cpu();
  }
  game.d.driver.migrate(game.d.space, kManagedBase + 4096, 60_KiB, kCpu)->next();
  const BlockWork& soon = game.d.fault(0, {5}, AccessType::Write, game.now + microseconds(100));
  EXPECT_EQ(copied(soon.copies, kCpu, kGpu), 4_KiB);
  const BlockWork& later = game.d.fault(0, {6}, AccessType::Write, game.now + microseconds(1'100'000));
  EXPECT_EQ(copied(later.copies, kCpu, kGpu), 60_KiB) << "page 0, too";
}

// Evictions of one GPU never count: a stream through too little memory is not throttled.
TEST(Thrashing, EvictionIsNoThrashing) {
  Driver d(small_machine(2_MiB), 4_MiB);
  Time now{};
  for (int round = 0; round < 20; ++round)
    for (std::uint32_t frame : {0u, 1u}) {
      const BlockWork& work = d.fault(0, {page_in(frame, 0)}, AccessType::Write, now += microseconds(5));
      EXPECT_TRUE(work.serviced);
      EXPECT_FALSE(work.throttled);
    }
}

// Until 590 the lapse is fixed. Since then each hint within the lapse lets it grow by an eighth (vote 0 - 1 = -1
// passes the unsigned test): 500 us x 1.125^59 > 500 ms.
TEST(AdaptiveLapse, GrowsToHalfASecondWithinSixtyHints) {
  const ThrashingRules rules{DriverConfig{}, driver_traits("595")};
  ASSERT_TRUE(rules.adaptive_lapse);
  ThrashingSpace space(rules);
  int hints = 0;
  for (; space.lapse < microseconds(500'000); ++hints) space.vote(microseconds(10));
  EXPECT_GE(hints, 58);
  EXPECT_LE(hints, 60);
  for (int more = 0; more < 1000; ++more) {
    space.vote(microseconds(10));
    EXPECT_GE(space.lapse, microseconds(430'000));
    EXPECT_LE(space.lapse, microseconds(570'000));
  }
}

TEST(AdaptiveLapse, IsFrozenByAnyOtherLapseAndBefore590) {
  DriverConfig config;
  EXPECT_FALSE(ThrashingRules(config, driver_traits("580")).adaptive_lapse);
  config.uvm_perf_thrashing_lapse_usec = 501;
  EXPECT_FALSE(ThrashingRules(config, driver_traits("595")).adaptive_lapse);
}

}  // namespace
}  // namespace uvmsim
