// Random GPUs, kernels and page masks for property tests.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "base/page_mask.h"
#include "gpu/kernel_program.h"
#include "machine/machine.h"

namespace uvmsim::testing_support {

struct Random {
  std::mt19937_64 engine;
  std::int64_t operator()(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return (*this)(1, 100) <= percent; }
};

inline GpuSpec random_gpu(Random& random) {
  GpuSpec gpu;
  gpu.sms = static_cast<int>(random(1, 24));
  gpu.max_threads_per_sm = 2048;
  gpu.max_ctas_per_sm = static_cast<int>(random(1, 16));
  gpu.fault.utlb_groups = static_cast<int>(random(1, 6));
  gpu.fault.slots_per_group = static_cast<int>(random(1, 64));
  gpu.fault.sms_per_utlb = static_cast<int>(random(0, 8));
  if (random.chance(50)) gpu.fault.refused_writes_per_sm = static_cast<int>(random(1, 8));
  // Coarse times make simultaneous events common: the order of ties is what could differ.
  const std::int64_t grain = random.chance(50) ? 1000 : 100;
  gpu.fault.entry_interval = Duration{random(0, 20) * grain};
  if (random.chance(50)) gpu.fault.group_interval = Duration{random(1, 40) * grain};
  gpu.fault.entry_latency = Duration{random(0, 800) * 1000};
  gpu.fault.touch_latency = Duration{random(0, 60) * 10 * grain};
  gpu.fault.replay_skew = Duration{random(0, 30) * 10 * grain};
  gpu.fault.cta_start = Duration{random(0, 30) * 10 * grain};
  gpu.fault.warp_stagger = Duration{random(0, 4) * 1000};
  gpu.fault.fault_buffer_entries = static_cast<int>(random.chance(30) ? random(1, random.chance(50) ? 40 : 400) : 4096);
  // None: all kernels are bound by memory.
  if (random.chance(50)) gpu.memory_bandwidth = BytesPerSecond{random(1, 2000) * 1'000'000'000};
  return gpu;
}

inline constexpr std::int64_t kFrames = 12;

struct RandomKernel {
  std::vector<trace::PatternOptions> options;
  std::vector<Operand> operands;
  LaunchShape shape;
  Duration in_core{};
};

inline Operand random_operand(Random& random, trace::Pattern pattern) {
  const std::int64_t space = kFrames * kBlockBytes;
  Operand o;
  o.bytes = random.chance(50) ? random(1, 300'000) : random(1, 6 * kBlockBytes);
  o.address = kManagedBase + static_cast<VirtualAddress>(random(0, space - o.bytes) / 512 * 512);
  o.mode = static_cast<trace::Mode>(random(1, 3));
  o.pattern = pattern;
  o.passes = static_cast<std::int32_t>(random.chance(80) ? 1 : 2);
  return o;
}

// C = A B, any of them transposed in memory; half of them in tiles and an order of their own.
template <class With>
void random_product(Random& random, With with) {
  const std::int64_t m = random(1, 600), n = random(1, 600), depth = random(1, 2000);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, trace::Mode mode) {
    Operand o = random_operand(random, trace::Pattern::Tile);
    trace::PatternOptions p{.rows = rows, .columns = columns, .leading_dimension = columns * 4};
    if (random.chance(50)) p.leading_dimension = 4, p.stride = rows * 4;
    o.address = kManagedBase + static_cast<VirtualAddress>(random(0, kFrames - 3) * kBlockBytes);
    o.bytes = rows * columns * 4;
    o.mode = mode;
    o.passes = 1;
    if (mode == trace::Mode::Write && random.chance(50)) {
      p.cta_rows = static_cast<std::int32_t>(random(32, 200));
      p.cta_columns = static_cast<std::int32_t>(random(32, 200));
      p.count = random(0, 6);
    }
    with(o, p);
  };
  matrix(m, depth, trace::Mode::Read);
  matrix(depth, n, trace::Mode::Read);
  matrix(m, n, trace::Mode::Write);
}

// Each thread takes contiguous places, of up to a few pages; perhaps fewer threads than chunks.
template <class With>
LaunchShape random_chunks(Random& random, With with) {
  for (std::int64_t n = random(1, 3); n > 0; --n) {
    const bool dense = random.chance(50);
    Operand o = random_operand(random, dense ? trace::Pattern::Sequential : trace::Pattern::Strided);
    trace::PatternOptions p{.dependent = random.chance(30)};
    if (!dense) p.stride = random.chance(50) ? random(1, 400) : random(1, 20'000);
    p.chunk = random.chance(70) ? random(1, 20'000) : random(1, kBlockBytes);
    o.bytes = std::min(o.bytes, dense ? random(1, 300'000) : o.bytes);
    with(o, p);
  }
  if (random.chance(30)) return {0, static_cast<int>(random(1, 4) * 32)};
  return {random(1, 12), static_cast<int>(random(1, 128))};
}

// As many images in each operand, of planes of their own.
template <class With>
void random_images(Random& random, trace::Pattern pattern, With with) {
  const std::int64_t images = random(1, 6);
  for (std::int64_t n = random(1, 3); n > 0; --n) {
    Operand o = random_operand(random, pattern);
    trace::PatternOptions p{.stride = random(1, 20'000), .count = random(1, 150)};
    if (pattern == trace::Pattern::Channels && random.chance(30)) p.width = random(1, 100'000);
    p.stride = std::min(p.stride, (kFrames - 2) * kBlockBytes / (images * p.count));
    o.bytes = images * p.count * p.stride;
    o.address = kManagedBase + static_cast<VirtualAddress>(random(0, kFrames * kBlockBytes - o.bytes) / 512 * 512);
    with(o, p);
  }
}

inline RandomKernel random_kernel(Random& random) {
  RandomKernel k;
  k.in_core = Duration{random(0, 400'000) * 1000};
  const int kind = static_cast<int>(random(0, 16));
  const auto with = [&](Operand o, trace::PatternOptions p) {
    o.options = static_cast<std::int32_t>(k.options.size());
    k.options.push_back(std::move(p));
    k.operands.push_back(o);
  };
  if (kind <= 4) {  // sweeps
    for (std::int64_t n = random(1, 4); n > 0; --n)
      k.operands.push_back(random_operand(random, random.chance(20)   ? trace::Pattern::Broadcast
                                                  : random.chance(20) ? trace::Pattern::Wide
                                                                      : trace::Pattern::Sequential));
    if (random.chance(40)) k.shape.block = static_cast<int>(random(1, 16) * 64);
    if (random.chance(30)) k.shape.grid = random(1, 200);
    if (random.chance(10)) k.shape = {1, 1};
    if (k.shape.block == 1)
      for (Operand& o : k.operands) o.bytes = std::min<std::int64_t>(o.bytes, 200'000), o.passes = 1;
  } else if (kind <= 6) {  // stencil
    trace::PatternOptions p;
    p.columns = random(1, 3000);
    p.rows = random(1, 60);
    p.leading_dimension = p.columns * 4;
    if (random.chance(30)) p.count = random(1, 3);  // a border in shared memory
    if (random.chance(50)) p.block_x = static_cast<int>(random(1, 100)), p.block_y = static_cast<int>(random(1, 10));
    Operand in = random_operand(random, trace::Pattern::Stencil), out = random_operand(random, trace::Pattern::Grid2d);
    in.bytes = out.bytes = p.columns * p.rows * 4;
    in.address = kManagedBase;
    out.address = kManagedBase + 6 * kBlockBytes;
    in.mode = trace::Mode::Read;
    out.mode = trace::Mode::Write;
    with(in, p);
    if (random.chance(30)) {  // another one that is read after it
      p.dependent = true;
      in.address += 3 * kBlockBytes;
      with(in, p);
    }
    with(out, p);
  } else if (kind == 7) {
    trace::PatternOptions p;
    Operand o = random_operand(random, trace::Pattern::Order);
    for (std::int64_t n = random(1, 40); n > 0; --n) p.order.push_back(random(0, o.bytes - 1));
    with(o, p);
  } else if (kind == 8) {
    trace::PatternOptions p;
    p.stride = random(1, 9000);
    with(random_operand(random, trace::Pattern::Strided), p);
    with(random_operand(random, trace::Pattern::Strided), p);
    k.shape = {random(1, 4), static_cast<int>(random(1, 128))};
  } else if (kind == 9) {
    trace::PatternOptions p;
    p.count = random(1, 600);
    with(random_operand(random, trace::Pattern::Random), p);
    p.dependent = random.chance(50);
    if (random.chance(50)) with(random_operand(random, trace::Pattern::Random), p);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
    if (random.chance(50)) k.shape = {random(1, 4), static_cast<int>(random(1, 128))};
  } else if (kind == 11) {
    random_product(random, with);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
  } else if (kind == 12) {  // sums over columns
    trace::PatternOptions p;
    p.leading_dimension = random(200, 100'000);
    p.width = random(128, 4096);
    Operand matrix = random_operand(random, trace::Pattern::Tile);
    matrix.mode = trace::Mode::Read;
    with(matrix, p);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
  } else if (kind == 13) {
    k.shape = random_chunks(random, with);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
  } else if (kind == 14) {  // sweeps that are read one after the other
    for (std::int64_t n = random(2, 4); n > 0; --n)
      with(random_operand(random, trace::Pattern::Sequential),
           {.dependent = random.chance(70), .unroll = random.chance(30) ? static_cast<std::int32_t>(random(2, 5)) : 1});
    if (random.chance(30)) k.shape = {random(1, 200), static_cast<int>(random(1, 16) * 64)};
  } else if (kind == 15 || kind == 16) {
    random_images(random, kind == 15 ? trace::Pattern::Channels : trace::Pattern::Pixels, with);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
  } else {
    trace::PatternOptions p;
    p.leading_dimension = random(1, 200'000);
    with(random_operand(random, trace::Pattern::Rows), p);
    if (random.chance(50)) k.operands.push_back(random_operand(random, trace::Pattern::Sequential));
  }
  return k;
}

// What frameworks launch most: pointwise kernels whose operands fit in one another, so that consecutive CTAs do the
// same. Some operands are there twice, lie in one page with others, are of smaller elements, or end or start in
// mid-slice.
inline RandomKernel random_pointwise(Random& random) {
  RandomKernel k;
  k.in_core = Duration{random(0, 400'000) * 1000};
  k.shape.block = 32 << random(0, 5);
  const std::int64_t slice = k.shape.block * 4, ctas = random(1, 2000);
  const auto place = [&](Operand& o, std::int64_t grain) {
    o.address =
        kManagedBase + static_cast<VirtualAddress>(random(0, (kFrames * kBlockBytes - o.bytes) / grain) * grain);
  };
  for (std::int64_t n = random(1, 5); n > 0; --n) {
    Operand o;
    o.mode = static_cast<trace::Mode>(random(1, 3));
    o.passes = random.chance(80) ? 1 : 2;
    if (!k.operands.empty() && random.chance(25)) {  // again, perhaps for another purpose
      o.address = k.operands.back().address;
      o.bytes = k.operands.back().bytes;
      o.pattern = k.operands.back().pattern;
    } else if (random.chance(30)) {  // a row of weights
      o.bytes = random(1, 3000);
      place(o, 512);
      if (random.chance(50)) o.address = kManagedBase + static_cast<VirtualAddress>(random(0, 7) * 512);
      if (random.chance(70)) o.pattern = trace::Pattern::Broadcast;
    } else {
      o.bytes = (slice >> random(0, 2)) * ctas;
      if (random.chance(30)) o.bytes -= random(0, std::min(o.bytes - 1, slice * 3));
      place(o, random.chance(70) ? kPageBytes : 512);
    }
    if (random.chance(15)) {  // read after those before it
      o.options = 0;
      k.options = {{.dependent = true}};
    }
    k.operands.push_back(o);
  }
  return k;
}

inline PageMask random_mask(Random& random) {
  PageMask mask;
  for (std::int64_t n = random(0, 3); n > 0; --n) {
    const auto first = static_cast<std::uint32_t>(random(0, 511));
    mask.set({first, std::min<std::uint32_t>(512, first + static_cast<std::uint32_t>(random(1, 256)))});
  }
  return mask;
}

}  // namespace uvmsim::testing_support
