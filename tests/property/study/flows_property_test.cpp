// Flows whose rates are known end when SimGrid would end them, on any tree of links and whatever else flows.
#include <gtest/gtest.h>
#include <random>
#include <sstream>

#include "engine/clock.h"
#include "engine/fabric.h"
#include "engine/flows.h"
#include "study/child_process.h"

namespace uvmsim {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  BytesPerSecond rate() { return {1'000'000'000 * (4 + below(12))}; }
  BytesPerSecond sometimes_rate() { return one_in(2) ? rate() : BytesPerSecond{}; }

 private:
  std::mt19937_64 random_;
};

// memory0 - socket0 - two switches - two GPUs each; rates, duplex rates, common limits and losses of any kind.
Machine random_tree(Draw& draw) {
  Machine m;
  m.gpus.resize(4);
  for (GpuSpec& gpu : m.gpus) {
    gpu.copy.h2d_bandwidth = draw.sometimes_rate();
    gpu.copy.d2h_bandwidth = draw.sometimes_rate();
    gpu.remote_bandwidth = draw.sometimes_rate();
  }
  const auto hop = [&](const std::string& name, const std::string& kind, const std::string& from,
                       const std::string& to) {
    LinkSpec link;
    link.name = name;
    link.kind = kind;
    link.from = from;
    link.to = to;
    link.down = draw.rate();
    link.up = draw.rate();
    if (draw.one_in(2)) link.down_duplex = {link.down.value / 4 * 3};
    if (draw.one_in(2)) link.up_duplex = {link.up.value / 8 * 7};
    if (draw.one_in(4)) link.both = {(link.down.value + link.up.value) / 3 * 2};
    if (draw.one_in(4)) link.sharing_efficiency = {1, 0.9, 0.8};
    m.links.push_back(link);
  };
  hop("memory0", "memory", "memory0", "socket0");
  for (const std::string s : {"0", "1"}) hop("uplink" + s, "pcie", "socket0", "switch" + s);
  for (const std::string g : {"0", "1", "2", "3"}) hop("pcie" + g, "pcie", g < "2" ? "switch0" : "switch1", "gpu" + g);
  return m;
}

// The ends of forty transfers, in picoseconds: each GPU's engines do one after the other.
std::string ends_of(std::uint64_t seed, bool simgrid_only) {
  Draw draw(seed);
  const Machine m = random_tree(draw);
  Fabric fabric(m, false);
  if (simgrid_only) fabric.flows().use_simgrid_only();
  std::vector<Time> ends(40);
  for (int mover = 0; mover < 8; ++mover) {
    struct Transfer {
      const Route* route;
      Duration pause;
      Bytes size;
    };
    std::vector<Transfer> transfers;
    for (int i = 0; i < 5; ++i) {
      const GpuIndex gpu{mover / 2};
      const bool bulk = draw.one_in(3);
      const Route& in = bulk ? fabric.bulk_to_gpu(gpu) : fabric.to_gpu(gpu);
      const Route& out = bulk ? fabric.bulk_from_gpu(gpu) : fabric.from_gpu(gpu);
      const Route& peer = fabric.between(gpu, GpuIndex{static_cast<int>((gpu.value + 1 + draw.below(3)) % 4)});
      const Route& route = draw.one_in(6) ? peer : mover % 2 == 0 ? in : out;
      transfers.push_back({&route, microseconds(static_cast<double>(draw.below(300))), {4096 + draw.below(2'000'000)}});
    }
    scheduler().spawn("mover", [&fabric, &ends, mover, transfers] {
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        sleep_until(now() + transfers[i].pause);
        fabric.transfer(*transfers[i].route, transfers[i].size);
        ends[static_cast<std::size_t>(mover) * 5 + i] = now();
      }
    });
  }
  EXPECT_TRUE(fabric.flows().run_actors());
  std::string text;
  for (const Time end : ends) text += std::to_string(end.count()) + " ";
  return text;
}

// A flow that is handed over to SimGrid loses or gains half a byte, 0.5 ns at 1 GB/s, and so may each one that shares
// with it.
TEST(Flows, EndWhenSimGridWouldEndThem) {
  constexpr std::int64_t kTolerance = 20'000;  // ps
  int unequal = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ChildProcess known([seed] { return ends_of(seed, false); });
    ChildProcess simgrid([seed] { return ends_of(seed, true); });
    std::istringstream a(known.wait()), b(simgrid.wait());
    for (std::int64_t x = 0, y = 0; a >> x && b >> y;) {
      ASSERT_GT(x, 0);
      ASSERT_LE(std::abs(x - y), kTolerance) << "seed " << seed << ": " << x << " ps, by SimGrid " << y;
      unequal += x != y;
    }
  }
  EXPECT_GT(unequal, 0) << "the same code has been compared with itself";
}

}  // namespace
}  // namespace uvmsim
