// What sets each coordinator apart, and which GPUs share what.
#include <gtest/gtest.h>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

LinkSpec link(const std::string& name, const std::string& from, const std::string& to, std::int64_t gigabytes) {
  LinkSpec l;
  l.name = name;
  l.kind = from.starts_with("socket") && to.starts_with("socket") ? "socket" : "pcie";
  l.from = from;
  l.to = to;
  l.down = l.up = BytesPerSecond{gigabytes * 1'000'000'000};
  return l;
}

// Four GPUs of 10 GB/s, two below each switch; uplinks of 10, one memory of `memory`.
Machine two_switches(std::int64_t memory) {
  Machine m;
  m.gpus.resize(4);
  m.links = {link("memory", "memory0", "socket0", memory), link("uplink0", "socket0", "switch0", 10),
             link("uplink1", "socket0", "switch1", 10),    link("pcie0", "switch0", "gpu0", 10),
             link("pcie1", "switch0", "gpu1", 10),         link("pcie2", "switch1", "gpu2", 10),
             link("pcie3", "switch1", "gpu3", 10)};
  return m;
}

using Gpus = std::vector<int>;

std::vector<GpuIndex> named(const Gpus& numbers) {
  std::vector<GpuIndex> gpus;
  for (const int n : numbers) gpus.push_back(GpuIndex{n});
  return gpus;
}
SharedLink shared(const std::string& name, const Gpus& numbers) { return {name, named(numbers)}; }

// Two GPUs below an uplink can ask it for twice what it carries.
TEST(SharedLinks, AreThoseThatGpusCanOverload) {
  EXPECT_EQ(shared_links(two_switches(100), named({0, 1, 2, 3})),
            (std::vector<SharedLink>{shared("uplink0", {0, 1}), shared("uplink1", {2, 3})}));
}
// gpu2 is alone below its switch, and a memory of 100 GB/s carries both uplinks.
TEST(SharedLinks, LeaveOutGpusThatCompeteWithNone) {
  EXPECT_EQ(shared_links(two_switches(100), named({0, 1, 2})), (std::vector<SharedLink>{shared("uplink0", {0, 1})}));
}
// Each uplink has one GPU; the memory carries 15 GB/s of the 20 that they can ask for.
TEST(SharedLinks, CanBeTheMemory) {
  EXPECT_EQ(shared_links(two_switches(15), named({0, 2})), (std::vector<SharedLink>{shared("memory", {0, 2})}));
  EXPECT_EQ(shared_links(two_switches(20), named({0, 2})), (std::vector<SharedLink>{}));
}

// switch1 hangs below switch0: the link between them is short by a factor of 2, uplink0 by 4.
TEST(SharedLinks, OfSeveralTheShortestCounts) {
  Machine m = two_switches(100);
  m.links[2].from = "switch0";
  EXPECT_EQ(shared_links(m, named({0, 1, 2, 3})), (std::vector<SharedLink>{shared("uplink0", {0, 1, 2, 3})}));
}

const std::vector<SharedLink> kFour = {shared("uplink", {0, 1, 2, 3})};

// The coordinator `name` with the text parameter `key` and holders, as a config would set them.
std::unique_ptr<Coordinator> make(const std::string& name, const std::string& key = "", const std::string& value = "",
                                  int holders = 1) {
  const auto kind = coordinators().find(name)->make();
  if (!key.empty()) parameter<std::string>(*kind, key) = value;
  if (kind->parameters().description->find("holders") != nullptr) parameter<int>(*kind, "holders") = holders;
  return kind->make(kFour);
}

std::vector<int> beginners(const Coordinator& c, std::int64_t iteration) {
  std::vector<int> gpus;
  for (int g = 0; g < 4; ++g)
    if (c.may_begin(GpuIndex{g}, iteration)) gpus.push_back(g);
  return gpus;
}

TEST(BidirectionalOverlapping, TurnsGoRound) {
  const auto c = make("bidirectional_overlapping");
  for (std::int64_t i = 0; i < 2; ++i)
    for (int g = 0; g < 4; ++g) {
      EXPECT_TRUE(c->may_begin(GpuIndex{g}, i));
      if (g < 3) {
        EXPECT_FALSE(c->may_begin(GpuIndex{g + 1}, i));
      }
      EXPECT_FALSE(c->may_begin(GpuIndex{0}, i + 1));
      c->reached(GpuIndex{g}, i, Moment::ForwardDone);
      EXPECT_FALSE(g < 3 ? c->may_begin(GpuIndex{g + 1}, i) : c->may_begin(GpuIndex{0}, i + 1))
          << "copies out are still under way";
      c->reached(GpuIndex{g}, i, Moment::CopiesOutDone);
    }
}

TEST(BidirectionalOverlapping, SeveralMayHoldTheToken) {
  const auto c = make("bidirectional_overlapping", "scope", "link", 2);
  EXPECT_EQ(beginners(*c, 0), (Gpus{0, 1}));
  c->reached(GpuIndex{1}, 0, Moment::ForwardDone);
  c->reached(GpuIndex{1}, 0, Moment::CopiesOutDone);
  EXPECT_EQ(beginners(*c, 0), (Gpus{0, 1, 2}));
}

TEST(BidirectionalOverlapping, PairsHaveATokenEach) {
  EXPECT_EQ(beginners(*make("bidirectional_overlapping", "scope", "pair"), 0), (Gpus{0, 2}));
}

TEST(BidirectionalOverlapping, TheTurnEndsAsTheReleaseRuleSays) {
  for (const auto& [release, moment] :
       {std::pair("backward", Moment::ForwardDone), std::pair("last_copy_out", Moment::CopiesOutDone)}) {
    const auto c = make("bidirectional_overlapping", "release", release);
    c->reached(GpuIndex{0}, 0, moment);
    EXPECT_TRUE(c->may_begin(GpuIndex{1}, 0)) << release;
  }
}

// GPU 0 waits in a collective for the others; what it does later in that iteration gives back nothing more.
TEST(BidirectionalOverlapping, WhoMeetsPeersGivesTheTurnBack) {
  const auto c = make("bidirectional_overlapping");
  c->reached(GpuIndex{0}, 0, Moment::MeetsPeers);
  EXPECT_EQ(beginners(*c, 0), (Gpus{0, 1}));
  c->reached(GpuIndex{0}, 0, Moment::ForwardDone);
  c->reached(GpuIndex{0}, 0, Moment::CopiesOutDone);
  EXPECT_EQ(beginners(*c, 0), (Gpus{0, 1}));
}

TEST(BidirectionalOverlapping, WhoHasFinishedIsPassedOver) {
  const auto c = make("bidirectional_overlapping");
  c->reached(GpuIndex{0}, 0, Moment::Finished);
  EXPECT_TRUE(c->may_begin(GpuIndex{1}, 0));
  EXPECT_FALSE(c->may_begin(GpuIndex{1}, 1)) << "GPUs 1 to 3 have turns before that";
}

SwapCopy copy(std::int64_t number, int gpu, bool out, bool awaited, std::int64_t until_use) {
  return {.number = number,
          .gpu = GpuIndex{gpu},
          .out = out,
          .bytes = Bytes{1},
          .awaited = awaited,
          .until_use = until_use};
}

// Three copies in wait: the one that a kernel waits for goes first, then the one needed sooner. The copy out is alone
// in its direction.
TEST(Priority, ServesTheMostUrgentCopyOfEachDirection) {
  const auto c = make("priority");
  std::vector<SwapCopy> waiting = {copy(0, 0, false, false, 9), copy(1, 1, false, false, 4),
                                   copy(2, 2, false, true, 20), copy(3, 0, true, false, SwapCopy::kUnknown)};
  const auto starts = [&](const std::vector<SwapCopy>& under_way) {
    std::vector<std::int64_t> numbers;
    for (const SwapCopy& w : waiting)
      if (c->admit(w, waiting, under_way, Time{5}) == Time{5}) numbers.push_back(w.number);
    return numbers;
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(starts({}), (Numbers{2, 3}));
  EXPECT_EQ(starts({copy(7, 3, false, false, 1)}), (Numbers{3}));
  waiting.erase(waiting.begin() + 2);
  EXPECT_EQ(starts({}), (Numbers{1, 3}));
}

// Slots of 10 ms for four GPUs: copies out of GPU 1 start in 10..20 ms, 50..60 ms, ...; its copies in two slots later.
TEST(StaticSlots, CopiesStartInTheSlotOfTheirGpu) {
  const auto c = make("static_slots");
  const auto ms = [](double t) { return microseconds(1e3 * t); };
  const auto start = [&](bool out, double at) {
    const SwapCopy one = copy(0, 1, out, false, 1);
    return c->admit(one, {&one, 1}, {}, ms(at));
  };
  EXPECT_EQ(start(true, 0), ms(10));
  EXPECT_EQ(start(true, 10), ms(10));
  EXPECT_EQ(start(true, 19), ms(19));
  EXPECT_EQ(start(true, 20), ms(50));
  EXPECT_EQ(start(false, 12), ms(30));
}

// A collective from GPU 1 with 3 kernels to go waits for a copy of GPU 0 below the same switch, not for one of GPU 4
// below the other, and not once the kernel that needs it is next. Copies wait for nothing, nor do collectives that
// nobody knows the need of.
TEST(DeferredCollectives, WaitForCopiesUntilTheyAreNeeded) {
  const auto c = make("deferred_collectives");
  const auto sum = [](std::int64_t until_use, bool awaited = false) {
    SwapCopy of = copy(1, 1, true, awaited, until_use);
    of.peer = GpuIndex{2};
    return of;
  };
  const auto start = [&](const SwapCopy& one, std::vector<SwapCopy> under_way) {
    return c->admit(one, {&one, 1}, under_way, Time{7});
  };
  EXPECT_TRUE(c->coordinates_collectives());
  EXPECT_EQ(start(sum(3), {copy(0, 0, false, false, 9)}), kNever);
  EXPECT_EQ(start(sum(3), {copy(0, 4, false, false, 9)}), Time{7});
  EXPECT_EQ(start(sum(3), {}), Time{7});
  EXPECT_EQ(start(sum(0), {copy(0, 0, false, false, 9)}), Time{7});
  EXPECT_EQ(start(sum(SwapCopy::kUnknown, true), {copy(0, 0, false, false, 9)}), Time{7});
  EXPECT_EQ(start(copy(1, 1, true, false, 9), {copy(0, 0, false, false, 9)}), Time{7});
}

TEST(None, HoldsNothingBack) {
  const auto c = make("none");
  const SwapCopy one = copy(0, 1, true, false, 1);
  EXPECT_EQ(c->admit(one, {&one, 1}, {&one, 1}, Time{7}), Time{7});
  EXPECT_EQ(beginners(*c, 3), (Gpus{0, 1, 2, 3}));
}

}  // namespace
}  // namespace uvmsim
