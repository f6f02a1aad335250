// Random operations on one GPU without advice: the driver does what a plain model of a list of blocks does.
#include <gtest/gtest.h>
#include <list>
#include <random>

#include "support/driver_fixture.h"
#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

using namespace test;

// Whole blocks, one GPU, no advice: residency per block and a list of blocks in order of service.
struct PlainModel {
  struct Block {
    PageMask gpu, cpu;
  };
  std::vector<Block> blocks;
  std::list<std::uint32_t> unused, used;  // blocks with a chunk; heads go first
  std::size_t chunks;
  std::int64_t in_pages = 0, out_pages = 0;

  PlainModel(std::size_t block_count, std::size_t chunk_count) : blocks(block_count), chunks(chunk_count) {}

  void obtain_chunk(std::uint32_t frame) {
    const bool had = std::erase(unused, frame) + std::erase(used, frame) > 0;
    if (!had && unused.size() + used.size() == chunks) {
      std::list<std::uint32_t>& from = unused.empty() ? used : unused;
      Block& victim = blocks[from.front()];
      from.pop_front();
      out_pages += victim.gpu.count();
      victim.cpu |= victim.gpu;
      victim.gpu.clear();
    }
    used.push_back(frame);
  }
  void move_to_gpu(std::uint32_t frame, const PageMask& pages) {
    obtain_chunk(frame);
    Block& block = blocks[frame];
    in_pages += (block.cpu & pages).count();
    block.gpu |= pages;
    block.cpu -= pages;
  }
  void gpu_fault(std::uint32_t frame, const PageMask& faulted) {
    PrefetchView view;
    view.block = view.region = {0, 512};
    view.resident = blocks[frame].gpu;
    view.faulted = faulted - blocks[frame].gpu;
    if (view.faulted.any()) move_to_gpu(frame, view.faulted | density_hint(view, {}));
  }
  void cpu_fault(std::uint32_t frame, std::uint32_t page, const PageMask& mapped) {
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
    const std::uint32_t frame = below(9);
    if (below(4) > 0) {
      std::vector<Page> faults;
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
      model.cpu_fault(frame, page_in_frame(page), d.driver.cpu_mapped(d.space, FrameIndex{frame}));
      add(d.driver.cpu_fault(d.space, page, AccessType::Write, Time{0}));
    } else {
      model.move_to_gpu(frame, PageMask::all());
      const auto migration = d.driver.migrate(d.space, block_address(frame), 2_MiB, kGpu);
      add(*migration->next());
    }
    d.driver.audit();
    for (std::uint32_t f = 0; f < 9; ++f) {
      ASSERT_EQ(d.on_gpu(f), model.blocks[f].gpu) << "step " << step << ", frame " << f;
      ASSERT_EQ(d.on_cpu(f), model.blocks[f].cpu) << "step " << step << ", frame " << f;
    }
    ASSERT_EQ(in, model.in_pages * kPageBytes) << "step " << step;
    ASSERT_EQ(out, model.out_pages * kPageBytes) << "step " << step;
  }
}

}  // namespace
}  // namespace uvmsim
