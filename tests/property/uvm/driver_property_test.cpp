// Random operations: the invariants hold after each, and on one GPU without advice the driver does what a plain
// model of a list of blocks does.
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <random>

#include "support/driver_fixture.h"
#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

using namespace test;

constexpr ProcessorId kCpu = ProcessorId::cpu(), kGpu = ProcessorId::gpu(0);

// Whole blocks, one GPU, no advice: residency per block and a list of blocks in order of service.
struct PlainModel {
  struct Block {
    PageMask gpu, cpu;
  };
  std::vector<Block> blocks;
  std::list<FrameIndex> unused, used;  // blocks with a chunk; heads go first
  std::size_t chunks;
  std::int64_t in_pages = 0, out_pages = 0;

  PlainModel(std::size_t block_count, std::size_t chunk_count) : blocks(block_count), chunks(chunk_count) {}

  void obtain_chunk(FrameIndex frame) {
    const bool had = std::erase(unused, frame) + std::erase(used, frame) > 0;
    if (!had && unused.size() + used.size() == chunks) {
      std::list<FrameIndex>& from = unused.empty() ? used : unused;
      Block& victim = blocks[from.front()];
      from.pop_front();
      out_pages += victim.gpu.count();
      victim.cpu |= victim.gpu;
      victim.gpu.clear();
    }
    used.push_back(frame);
  }
  void move_to_gpu(FrameIndex frame, const PageMask& pages) {
    obtain_chunk(frame);
    Block& block = blocks[frame];
    in_pages += (block.cpu & pages).count();
    block.gpu |= pages;
    block.cpu -= pages;
  }
  void gpu_fault(FrameIndex frame, const PageMask& faulted) {
    PrefetchView view;
    view.block = view.region = {0, 512};
    view.resident = blocks[frame].gpu;
    view.faulted = faulted - blocks[frame].gpu;
    if (view.faulted.any()) move_to_gpu(frame, view.faulted | density_hint(view, {}));
  }
  void cpu_fault(FrameIndex frame, std::uint32_t page, const PageMask& mapped) {
    Block& block = blocks[frame];
    PrefetchView view;
    view.block = view.region = {0, 512};
    view.resident = block.cpu;
    view.faulted.set(page);
    view.to_cpu = true;
    view.cpu_mapped = mapped;
    const PageMask pages = view.faulted | density_hint(view, {});
    out_pages += (block.gpu & pages).count();
    const bool had = block.gpu.any();
    block.gpu -= pages;
    block.cpu |= pages;
    if (!had || block.gpu.any()) return;
    std::erase(used, frame);
    unused.push_back(frame);
  }
};

TEST(DriverProperty, OneGpuWithoutAdviceEqualsThePlainModel) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  Machine machine = small_machine(10_MiB);
  machine.driver.uvm_perf_thrashing_enable = false;  // the model keeps no time
  Driver d(machine, 18_MiB);
  PlainModel model(9, 5);
  std::int64_t in = 0, out = 0;
  const auto add = [&](const BlockWork& work) {
    in += copied(work.copies, kCpu, kGpu).value;
    out += copied(work.copies, kGpu, kCpu).value;
    for (const EvictionWork& eviction : work.evictions) out += copied(eviction.copies, kGpu, kCpu).value;
  };
  for (int step = 0; step < 4000; ++step) {
    const FrameIndex frame = below(9);
    if (below(4) > 0) {
      std::vector<PageNumber> faults;
      PageMask faulted;
      for (std::uint32_t i = below(6) + 1; i > 0; --i) {
        const std::uint32_t page = below(512);
        faults.push_back(page_in(frame, page));
        faulted.set(page);
      }
      model.gpu_fault(frame, faulted);
      add(d.fault(0, faults));
    } else if (below(8) > 0) {
      const PageNumber page = page_in(frame, below(512));
      if (d.driver.cpu_can_access(d.space, page, AccessType::Write)) continue;
      model.cpu_fault(frame, page % 512, d.driver.cpu_mapped(d.space, frame));
      add(d.driver.cpu_fault(d.space, page, AccessType::Write, Time{0}));
    } else {
      model.move_to_gpu(frame, PageMask::all());
      const auto migration = d.driver.migrate(d.space, block_address(frame), 2_MiB, kGpu);
      add(*migration->next());
    }
    d.driver.audit();
    for (FrameIndex f = 0; f < 9; ++f) {
      ASSERT_EQ(d.on_gpu(f), model.blocks[f].gpu) << "step " << step << ", frame " << f;
      ASSERT_EQ(d.on_cpu(f), model.blocks[f].cpu) << "step " << step << ", frame " << f;
    }
    ASSERT_EQ(in, model.in_pages * kPageBytes) << "step " << step;
    ASSERT_EQ(out, model.out_pages * kPageBytes) << "step " << step;
  }
}

// The GPUs' page tables as an engine keeps them, from the work the driver returns.
class PageTables {
 public:
  explicit PageTables(std::size_t gpus) : gpus_(gpus) {}

  void apply(const std::vector<PageTableWrite>& writes) {
    for (const PageTableWrite& write : writes) {
      Entry& entry = gpus_[static_cast<std::size_t>(write.gpu.gpu_index())][{write.va_space, write.frame}];
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
  bool allows(std::size_t gpu, int space, PageNumber page, AccessType access) {
    const Entry& entry = gpus_[gpu][{space, frame_of(page)}];
    return (access >= AccessType::Write ? entry.write : entry.read).test(page % kPagesPerBlock);
  }

 private:
  struct Entry {
    PageMask read, write;
  };
  std::vector<std::map<std::pair<int, FrameIndex>, Entry>> gpus_;
};

// Everything at once: several GPUs, ragged allocations, advice on sub-ranges, discards, device memory, frees.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const Machine& machine)
      : random_(seed), gpus_(machine.gpus.size()), driver_(machine), tables_(machine.gpus.size()) {
    for (int space = 0; space < 2; ++space) driver_.create_va_space();
  }

  void step() {
    switch (below(12)) {
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
    const auto left =
        static_cast<std::uint64_t>(page_in(range.frame, 0)) + static_cast<std::uint64_t>(range.pages) - first;
    return {address_of(first), Bytes{(1 + std::int64_t{below(left)}) * kPageBytes}};
  }
  ProcessorId any_processor() { return {static_cast<std::int8_t>(below(gpus_ + 1))}; }

  void allocate() {
    if (ranges_.size() > 12) return;
    const Range range{static_cast<int>(below(2)), next_frame_, 1 + below(below(2) ? 1600 : 200)};
    next_frame_ += 4;
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
    const int gpu = static_cast<int>(below(gpus_));
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
    const int gpu = static_cast<int>(below(gpus_));
    std::vector<FaultEntry> entries;
    const PageNumber near = any_page(range);
    for (std::uint32_t i = below(20) + 1; i > 0; --i) {
      const PageNumber page =
          below(3) ? std::min(near + below(64), page_in(range.frame, 0) + static_cast<PageNumber>(range.pages) - 1)
                   : any_page(range);
      entries.push_back({page, static_cast<AccessType>(below(5)), static_cast<std::uint16_t>(below(4))});
    }
    now_ += microseconds(below(400));
    FaultBatch& batch = driver_.fetch(gpu, range.space, entries);
    for (std::size_t block = 0; block < batch.blocks.size(); ++block) {
      const BlockWork& work = driver_.service(batch, block, now_);
      tables_.apply(work);
      audit();
      if (work.out_of_memory || work.throttled) continue;
      for (std::uint32_t i = batch.blocks[block].first; i < batch.blocks[block].outer; ++i)
        EXPECT_TRUE(
            tables_.allows(static_cast<std::size_t>(gpu), range.space, batch.faults[i].page, batch.faults[i].access))
            << "a serviced fault gives access";
    }
  }

  std::mt19937_64 random_;
  std::size_t gpus_;
  UvmDriver driver_;
  PageTables tables_;
  std::vector<Range> ranges_;
  FrameIndex next_frame_ = 0;
  int device_ = 0, device_gpu_ = 0;
  Time now_{};
};

class RandomOperations : public testing::TestWithParam<int> {};

TEST_P(RandomOperations, KeepTheInvariants) {
  Machine machine = small_machine(8_MiB, GetParam() % 3 + 1);
  if (machine.gpus.size() > 1) add_nvlink(machine, 0, 1);
  const char* versions[] = {"515.43.04", "535.86.05", "580.65.06", "595.45.04"};
  machine.driver.version = versions[GetParam() % 4];
  machine.driver.eviction_policy = GetParam() % 5 == 0 ? "random" : "driver";
  RandomRun run(static_cast<std::uint64_t>(GetParam()), machine);
  for (int step = 0; step < 1500; ++step) {
    run.step();
    run.audit();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, testing::Range(0, 24));

}  // namespace
}  // namespace uvmsim
