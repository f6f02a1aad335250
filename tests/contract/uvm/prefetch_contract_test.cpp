// Every registered prefetch policy must keep this contract; a new file is enrolled by existing.
#include <gtest/gtest.h>
#include <random>

#include "support/watched_program.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

using namespace test;

class PrefetchContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<PrefetchPolicy> make() const {
    return prefetch_policies().find(GetParam())->make()->make(DriverConfig{}, driver_traits("595"));
  }
};

PageMask random_pages(std::mt19937_64& random, PageRegion region) {
  PageMask out;
  for (std::uint64_t runs = random() % 6; runs > 0; --runs) {
    const auto first = static_cast<std::uint32_t>(region.first + random() % region.page_count());
    out.set(PageRegion{first, std::min(region.outer, first + static_cast<std::uint32_t>(random() % 40) + 1)});
  }
  return out;
}

TEST_P(PrefetchContract, StaysInsideTheBlockAndBesideTheFaults) {
  std::mt19937_64 random(7);
  const auto policy = make();
  for (int trial = 0; trial < 2000; ++trial) {
    PrefetchView view;
    view.block.first = static_cast<std::uint32_t>(random() % 512);
    view.block.outer = view.block.first + 1 + static_cast<std::uint32_t>(random() % (512 - view.block.first));
    view.region = view.block;
    view.resident = random_pages(random, view.block);
    view.faulted = random_pages(random, view.block);
    view.thrashing = random_pages(random, view.block);
    const PageMask prefetched = policy->prefetch(view);
    EXPECT_TRUE((prefetched - PageMask::of(view.region)).none());
    EXPECT_TRUE((prefetched & view.faulted).none());
    EXPECT_TRUE((prefetched & view.thrashing).none());
    EXPECT_EQ(prefetched, policy->prefetch(view)) << "the same view, the same answer";
  }
}

// Whatever is prefetched, faulting every page brings every page, and the state stays sound.
TEST_P(PrefetchContract, AStreamBecomesResident) {
  Machine machine = small_machine(8_MiB);
  machine.driver.prefetch_policy = GetParam();
  Driver d(machine, {kBlockBytes + 300 * kPageBytes});
  d.cpu_touch(0, 812);
  for (std::uint32_t page = 0; page < 812; ++page) d.read(page);
  EXPECT_EQ(d.driver.resident_bytes(GpuIndex{0}).value, 812 * kPageBytes);
  d.driver.audit();
}

// What it brings in the background is absent, and asked for a bounded number of times; the same again.
TEST_P(PrefetchContract, LooksAheadTheSameAndOnlyForAbsentFrames) {
  const auto run = [&] {
    Machine machine = small_machine(8_MiB);
    machine.driver.prefetch_policy = GetParam();
    Driver d(machine, 20_MiB);
    const Program p = program_of(std::vector<Frames>(6, {0, 3, 7}));
    d.driver.attach(d.space, p, IndexedVector<DeviceOrdinal, GpuIndex>{GpuIndex{}});
    Frames brought;
    for (std::uint32_t op = 0; op < 6; ++op) {
      d.driver.begin_operation(GpuIndex{0}, d.space, op);
      for (const std::uint32_t frame : {0u, 3u, 7u})
        if (!d.on_gpu(frame).test(0)) d.read(page_in(frame, 0));
      while (AheadWork* work = d.driver.prefetch_ahead(GpuIndex{0})) {
        brought.push_back(work->frame.value);
        EXPECT_TRUE(d.on_gpu(work->frame).full());
        EXPECT_GT(work->work.prefetched.value, 0);
        d.driver.finish_ahead(GpuIndex{0}, *work);
        d.driver.audit();
        if (brought.size() > 1000) break;
      }
      d.driver.end_operation(GpuIndex{0}, d.space);
    }
    EXPECT_LT(brought.size(), 1000u);
    return brought;
  };
  EXPECT_EQ(run(), run());
}

TEST_P(PrefetchContract, IsDocumented) {
  const auto* entry = prefetch_policies().find(GetParam());
  EXPECT_FALSE(entry->on_hardware.empty());
  EXPECT_FALSE(entry->summary.empty());
  EXPECT_FALSE(entry->source.empty());
}

INSTANTIATE_TEST_SUITE_P(All, PrefetchContract, testing::ValuesIn(prefetch_policies().names()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace uvmsim
