// A unit that remembers must do what one does that walks every kernel, to the picosecond: on random kernels, launched
// again and again, at other times and places, on two GPUs, by a driver that mostly does the same, sometimes not.
#include <array>
#include <gtest/gtest.h>

#include "gpu/remembering_fault_unit.h"
#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

// What both units are told, each with a page table of its own.
class Both {
 public:
  Both(const GpuSpec& gpu, WalkMemory& memory) : walks_(gpu), remembers_(gpu, &memory) {}

  void launch(const KernelProgram& program, Duration in_core, Time at) {
    take(walks_.buffer().size(), at);
    walks_.launch(program, walked_, in_core, at);
    remembers_.launch(program, remembered_, in_core, at);
    recalled_ = remembers_.recalls();
  }
  void advance(Time at) {
    walks_.advance(at);
    remembers_.advance(at);
  }
  void advance_to_fault(Time limit) {
    walks_.advance_to_fault(limit);
    remembers_.advance_to_fault(limit);
  }
  // Looks ahead, with an empty buffer, and takes that back.
  void look_ahead_in_vain(Time limit) {
    const FaultUnit before = walks_;
    remembers_.mark();
    advance_to_fault(limit);
    expect_the_same();
    walks_ = before;
    remembers_.go_back();
  }
  void take(std::size_t n, Time at) {
    walks_.take(n, at);
    remembers_.take(n, at);
  }
  void replay(Time at) {
    walks_.replay(at);
    remembers_.replay(at);
    EXPECT_EQ(remembers_.passed(), walks_.passed());
  }
  // Up to `flush`, which takes what is visible, the second unit need not say what comes.
  void discard() { remembers_.discard(); }
  void flush(Time at) {
    const std::size_t seen = visible_at(walks_.buffer(), at);
    walks_.take(seen, at);
    EXPECT_EQ(remembers_.flush(at), seen);
  }
  void retire() {
    walks_.retire();
    remembers_.retire();
  }
  void forget_pages() { walked_ = remembered_ = PageTable(); }
  void map(PageNumber page, bool writable, Time at) {
    PageMask mask;
    mask.set(page_in_frame(page));
    if (!writable) walks_.before_unmap(at);
    walked_.map(frame_of(page), mask, writable, false);
    remembers_.map(remembered_, frame_of(page), mask, writable, false, at);
  }
  void unmap(PageNumber page, Time at) {
    PageMask mask;
    mask.set(page_in_frame(page));
    walks_.before_unmap(at);
    walked_.unmap(frame_of(page), mask);
    remembers_.unmap(remembered_, frame_of(page), mask, at);
  }

  const FaultUnit& walked() const { return walks_; }
  bool was_recalled() const { return recalled_ && remembers_.recalls(); }
  bool was_given_up() const { return recalled_ && !remembers_.recalls(); }

  void expect_the_same() const {
    ASSERT_EQ(remembers_.buffer().size(), walks_.buffer().size());
    for (std::size_t i = 0; i < walks_.buffer().size(); ++i) {
      ASSERT_EQ(remembers_.buffer()[i].visible, walks_.buffer()[i].visible) << "entry " << i;
      ASSERT_EQ(remembers_.buffer()[i].page, walks_.buffer()[i].page);
      ASSERT_EQ(remembers_.buffer()[i].utlb, walks_.buffer()[i].utlb);
      ASSERT_EQ(remembers_.buffer()[i].write, walks_.buffer()[i].write);
    }
    ASSERT_EQ(remembers_.ended(), walks_.ended());
    if (walks_.ended()) {
      ASSERT_EQ(remembers_.end(), walks_.end());
    }
  }

 private:
  FaultUnit walks_;
  RememberingFaultUnit remembers_;
  PageTable walked_, remembered_;
  bool recalled_ = false;
};

constexpr std::int64_t kPages = kFrames * kPagesPerBlock;

// One kernel, launched several times.
struct Scene {
  GpuSpec gpu;
  RandomKernel kernel;
  std::uint64_t seed;
};

// `when`: what differs from time to time. Returns when the kernel has ended.
void play(const Scene& scene, Both& units, Random& when, bool first, Time& t) {
  Random what{std::mt19937_64(scene.seed)};
  const auto moved = static_cast<std::uint32_t>(first ? 0 : when(0, 2000));
  const auto any_page = [&](Random& random) {
    return PageNumber{static_cast<std::uint32_t>(random(0, kPages - 1))} + moved;
  };
  RandomKernel kernel = scene.kernel;
  for (Operand& o : kernel.operands) o.address += moved * kPageBytes;
  const auto program = make_kernel_program(kernel.shape, kernel.operands, kernel.options);
  units.forget_pages();
  const int resident = what.chance(30) ? 0 : static_cast<int>(what(0, 100));
  for (std::uint32_t p = 0; p < kPages;) {  // runs of pages that are there
    const auto length = static_cast<std::uint32_t>(what(1, 100));
    const bool there = what.chance(resident), writable = !what.chance(10);
    for (std::uint32_t i = 0; there && i < length; ++i) units.map(PageNumber{p + i} + moved, writable, t);
    p += length;
  }
  units.launch(*program, kernel.in_core, t);
  // The driver takes up to 0.3 us, up to 30 us, or long enough for nothing to happen any more.
  const std::int64_t haste = when(0, 4);
  const auto pause = [&] {
    t += Duration{haste == 0   ? when(0, 3000) * 100
                  : haste == 1 ? when(0, 30'000) * 1000
                               : 100'000'000 + when(0, 9) * 1000};
  };
  for (int action = 0;; ++action) {
    ASSERT_LT(action, 100'000) << "the kernel never ends";
    if (units.walked().buffer().empty() && when.chance(20))
      units.look_ahead_in_vain(when.chance(50) ? kNever : t + Duration{when(0, 3000) * 1000});
    if (units.walked().buffer().empty()) units.advance_to_fault(kNever);
    ASSERT_NO_FATAL_FAILURE(units.expect_the_same()) << "action " << action;
    if (units.walked().ended()) break;
    Random& driver = !first && when.chance(1) ? when : what;
    t = std::max(t, units.walked().buffer().front().visible) + Duration{driver(0, 3) * 1'000'000};
    units.advance(t);
    ASSERT_NO_FATAL_FAILURE(units.expect_the_same()) << "action " << action;
    const auto taken = static_cast<std::size_t>(driver(1, static_cast<std::int64_t>(units.walked().buffer().size())));
    std::vector<BufferedFault> batch;
    for (std::size_t i = 0; i < taken; ++i) batch.push_back(units.walked().buffer()[i]);
    units.take(taken, t);
    const bool discards = driver.chance(50);
    if (discards) units.discard();
    pause();
    units.advance(t);
    if (action < 1000 && driver.chance(15))
      for (std::int64_t n = driver(1, 40); n > 0; --n) units.unmap(any_page(driver), t);
    for (const BufferedFault& f : batch) {
      if (driver.chance(5)) continue;
      const bool writable = f.write || action > 1000 || driver.chance(80);
      for (std::int64_t n = driver.chance(30) ? driver(1, 40) : 1; n > 0; --n)
        if (f.page.value + n <= kPages + moved) units.map(f.page + static_cast<std::uint32_t>(n - 1), writable, t);
    }
    pause();
    units.advance(t);
    if (discards) units.flush(t);
    ASSERT_NO_FATAL_FAILURE(units.expect_the_same()) << "action " << action;
    units.replay(t);
  }
  t = units.walked().end() + Duration{when(0, 5) * 1000};
  units.advance(t);
  units.retire();
}

class RecalledKernelsEqualWalkedOnes : public testing::TestWithParam<int> {};

TEST_P(RecalledKernelsEqualWalkedOnes, WhateverTheDriverDoes) {
  int recalled = 0, given_up = 0;
  for (int i = 0; i < 20; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * 1000 + i);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{std::mt19937_64(seed)};
    Scene scene{random_gpu(random), random_kernel(random), seed};
    WalkMemory memory;
    std::array units{Both(scene.gpu, memory), Both(scene.gpu, memory)};
    Time t{};
    for (int time = 0; time < 8; ++time) {
      Both& unit = units[static_cast<std::size_t>(time % 2)];
      SCOPED_TRACE("launch " + std::to_string(time));
      ASSERT_NO_FATAL_FAILURE(play(scene, unit, random, time == 0, t));
      recalled += unit.was_recalled() ? 1 : 0;
      given_up += unit.was_given_up() ? 1 : 0;
    }
  }
  // What has been held to nothing tells nothing.
  EXPECT_GE(recalled, 5);
  EXPECT_GE(given_up, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecalledKernelsEqualWalkedOnes, testing::Range(0, 40));

}  // namespace
}  // namespace uvmsim
