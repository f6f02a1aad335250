// Random operations of every kind: the invariants hold after each, and a serviced fault gives access.
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "support/driver_fixture.h"
#include "uvm/eviction/eviction_policy.h"
#include "uvm/prefetch/prefetch_policy.h"

namespace uvmsim {
namespace {

using namespace test;

// The GPUs' page tables as an engine keeps them, from the work the driver returns.
class PageTables {
 public:
  explicit PageTables(std::size_t gpus) : gpus_(gpus) {}

  void apply(const std::vector<PageTableWrite>& writes) {
    for (const PageTableWrite& write : writes) {
      Entry& entry = gpus_[write.gpu.gpu_index()][{write.va_space, write.frame}];
      entry.read -= write.pages;
      entry.write -= write.pages;
      if (write.permission != PageTableWrite::Permission::None) entry.read |= write.pages;
      if (write.permission == PageTableWrite::Permission::ReadWrite) entry.write |= write.pages;
    }
  }
  void apply(const BlockWork& work) {
    for (const EvictionWork& eviction : work.evictions) apply(eviction.unmap);
    apply(work.unmap);
    apply(work.map);
  }
  bool allows(GpuIndex gpu, int space, PageNumber page, AccessType access) {
    const Entry& entry = gpus_[gpu][{space, frame_of(page)}];
    return (access >= AccessType::Write ? entry.write : entry.read).test(page_in_frame(page));
  }

 private:
  struct Entry {
    PageMask read, write;
  };
  IndexedVector<GpuIndex, std::map<std::pair<int, FrameIndex>, Entry>> gpus_;
};

// Everything at once: several GPUs, ragged allocations, advice on sub-ranges, discards, device memory, frees.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const Machine& machine)
      : random_(seed),
        gpus_(machine.gpus.size()),
        ats_(has_ats(machine.gpus.front())),
        driver_(machine),
        tables_(machine.gpus.size()) {
    for (int space = 0; space < 2; ++space) driver_.create_va_space();
  }

  void step() {
    switch (below(driver_.counts_accesses(GpuIndex{0}) ? 14 : 13)) {
      case 13:
        return access_counters();
      case 12:
        return work_ahead();
      case 0:
        return allocate();
      case 1:
        return free_one();
      case 2:
        return advise();
      case 3:
        return discard();
      case 4:
        return migrate();
      case 5:
        return device();
      case 6:
      case 7:
        return cpu_fault();
      default:
        return gpu_faults();
    }
  }
  void audit() const { driver_.audit(); }

 private:
  struct Range {
    int space;
    FrameIndex frame;
    std::int64_t pages;
  };

  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_() % n); }
  Range& any_range() {
    if (ranges_.empty()) allocate();
    return ranges_[below(ranges_.size())];
  }
  PageNumber any_page(const Range& range) {
    return page_in(range.frame, 0) + below(static_cast<std::uint64_t>(range.pages));
  }
  std::pair<VirtualAddress, Bytes> any_part(const Range& range) {
    const PageNumber first = any_page(range);
    const auto left = static_cast<std::uint64_t>(range.pages) - (first - page_in(range.frame, 0));
    return {address_of(first), Bytes{(1 + std::int64_t{below(left)}) * kPageBytes}};
  }
  ProcessorId any_processor() { return {static_cast<std::int8_t>(below(gpus_ + 1))}; }

  void allocate() {
    if (ranges_.size() > 12) return;
    const Range range{static_cast<int>(below(2)), next_frame_, 1 + below(below(2) ? 1600 : 200)};
    next_frame_ = next_frame_ + 4;
    if (ats_ && below(3) == 0)
      driver_.allocate_system(range.space, block_address(range.frame), {range.pages * kPageBytes});
    else
      driver_.allocate_managed(range.space, block_address(range.frame), {range.pages * kPageBytes});
    ranges_.push_back(range);
  }
  void free_one() {
    if (ranges_.empty()) return;
    const std::size_t i = below(ranges_.size());
    tables_.apply(driver_.free_managed(ranges_[i].space, block_address(ranges_[i].frame)));
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void advise() {
    const Range& range = any_range();
    const auto [address, size] = any_part(range);
    const int advice = static_cast<int>(below(3)) + 1;
    for (const BlockWork& work :
         driver_.advise(range.space, address, size, below(2) ? advice : -advice, any_processor()))
      tables_.apply(work);
  }
  void discard() {
    const Range& range = any_range();
    const auto [address, size] = any_part(range);
    tables_.apply(driver_.discard(range.space, address, size));
  }
  void migrate() {
    const Range& range = any_range();
    const auto [address, size] = any_part(range);
    const auto migration = driver_.migrate(range.space, address, size, any_processor());
    while (const BlockWork* work = migration->next()) {
      tables_.apply(*work);
      audit();
    }
  }
  void device() {
    const GpuIndex gpu{static_cast<int>(below(gpus_))};
    if (device_ > 0 && below(2)) {
      driver_.free_device(device_gpu_, 2_MiB);
      --device_;
    } else if (device_ == 0 || device_gpu_ == gpu) {
      const auto evictions = driver_.allocate_device(gpu, 2_MiB);
      if (!evictions) return;
      device_gpu_ = gpu;
      ++device_;
      for (const EvictionWork& eviction : *evictions) tables_.apply(eviction.unmap);
    }
  }
  // At most one piece of background work of each kind is in flight; it ends some time later.
  void work_ahead() {
    for (AheadWork*& work : in_flight_) {
      if (work == nullptr) continue;
      driver_.finish_ahead(GpuIndex{0}, *work);
      work = nullptr;
    }
    if (below(2)) in_flight_[0] = driver_.evict_ahead(GpuIndex{0});
    if (below(2)) in_flight_[1] = driver_.prefetch_ahead(GpuIndex{0});
    for (const AheadWork* work : in_flight_)
      if (work != nullptr) tables_.apply(work->work);
  }
  // Kernels access pages remotely that may have moved, or been freed, by the time the driver hears of it.
  void access_counters() {
    const Range& range = any_range();
    const GpuIndex gpu{static_cast<int>(below(gpus_))};
    const PageNumber page = any_page(range);
    const std::uint32_t first = page_in_frame(page);
    driver_.count_accesses(gpu, range.space, frame_of(page),
                           pages(first, std::min(first + 1 + below(100), kPagesPerBlock)), 1 + below(64));
    if (below(2)) return;
    for (const AccessNotification& notification : driver_.fetch_notifications(gpu)) {
      const BlockWork& work = driver_.service(gpu, notification, now_);
      EXPECT_FALSE(work.out_of_memory);
      tables_.apply(work);
      audit();
    }
  }
  void cpu_fault() {
    const Range& range = any_range();
    const PageNumber page = any_page(range);
    const AccessType access = below(2) ? AccessType::Write : AccessType::Read;
    if (driver_.cpu_can_access(range.space, page, access)) return;
    const BlockWork& work = driver_.cpu_fault(range.space, page, access, now_);
    tables_.apply(work);
    if (work.throttled || work.out_of_memory) return;
    EXPECT_TRUE(driver_.cpu_can_access(range.space, page, access)) << "a serviced fault gives access";
  }
  void gpu_faults() {
    const Range& range = any_range();
    const GpuIndex gpu{static_cast<int>(below(gpus_))};
    std::vector<FaultEntry> entries;
    const PageNumber near = any_page(range);
    for (std::uint32_t i = below(20) + 1; i > 0; --i) {
      const PageNumber page =
          below(3) ? std::min(near + below(64), page_in(range.frame, static_cast<std::uint32_t>(range.pages) - 1))
                   : any_page(range);
      entries.push_back({page, static_cast<AccessType>(below(5)), static_cast<std::uint16_t>(below(4))});
    }
    now_ += microseconds(below(400));
    FaultBatch& batch = driver_.fetch(gpu, range.space, entries);
    const auto allowed = [&](std::uint32_t i, AccessType most) {
      return tables_.allows(gpu, range.space, batch.faults[i].page, std::min(batch.faults[i].access, most));
    };
    constexpr AccessType kAny = AccessType::AtomicStrong;
    for (std::size_t block = 0; block < batch.blocks.size(); ++block) {
      const auto [first, outer] = batch.blocks[block];
      std::vector<bool> stale;  // these are not serviced, and a write beside one may take its right to write
      for (std::uint32_t i = first; i < outer; ++i) stale.push_back(allowed(i, kAny));
      const BlockWork& work = driver_.service(batch, block, now_);
      tables_.apply(work);
      audit();
      if (work.out_of_memory || work.throttled) continue;
      for (std::uint32_t i = first; i < outer; ++i)
        EXPECT_TRUE(allowed(i, stale[i - first] ? AccessType::Read : kAny)) << "a serviced fault gives access";
    }
  }

  std::mt19937_64 random_;
  std::size_t gpus_;
  bool ats_;
  UvmDriver driver_;
  PageTables tables_;
  std::vector<Range> ranges_;
  FrameIndex next_frame_{};
  int device_ = 0;
  GpuIndex device_gpu_{};
  Time now_{};
  AheadWork* in_flight_[2] = {nullptr, nullptr};
};

// Names of policies, in turn.
template <class Registry>
std::string pick(const Registry& registry, int n) {
  const std::vector<std::string> names = registry.names();
  return names[static_cast<std::size_t>(n) % names.size()];
}

class RandomOperations : public testing::TestWithParam<int> {};

TEST_P(RandomOperations, KeepTheInvariants) {
  Machine machine = small_machine(8_MiB, GetParam() % 3 + 1);
  if (machine.gpus.size() > 1) add_nvlink(machine, 0, 1);
  const char* versions[] = {"515.43.04", "535.86.05", "580.65.06", "595.45.04"};
  machine.driver.version = versions[GetParam() % 4];
  if (GetParam() % 2 == 0) {
    machine.driver.eviction_policy = pick(eviction_policies(), GetParam() / 2);
    machine.driver.prefetch_policy = pick(prefetch_policies(), GetParam() / 2);
    if (GetParam() % 8 == 0) machine.driver.eviction_granularity = 64_KiB;
  }
  if (GetParam() % 5 == 0) {
    machine.driver.uvm_perf_access_counter_migration_enable = 1;
    if (GetParam() % 10 == 0) machine.driver.uvm_perf_access_counter_granularity = 64_KiB;
  }
  if (GetParam() >= 56) machine.host.page_size = 64_KiB;
  if (GetParam() >= 70)
    for (GpuSpec& gpu : machine.gpus) gpu.host_link = "nvlink", gpu.architecture = "volta";
  RandomRun run(static_cast<std::uint64_t>(GetParam()), machine);
  for (int step = 0; step < 1500; ++step) {
    run.step();
    run.audit();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, testing::Range(0, 84));

}  // namespace
}  // namespace uvmsim
