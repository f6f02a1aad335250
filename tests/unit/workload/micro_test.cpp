#include <gtest/gtest.h>

#include "support/generate.h"

namespace uvmsim {
namespace {

using trace::Mode;
using trace::Pattern;

// The default is P1: basic blocks 0, 1, 2, 4, 8, 16 of 64 KiB, after one host thread wrote all of them.
TEST(PageTouch, TouchesBasicBlocksInTheOrderGiven) {
  const trace::Trace t = generate("page_touch", "{}", 1);
  const auto kernels = records_of<trace::Kernel>(t);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].grid, 1);
  EXPECT_EQ(kernels[0].block, 1);
  const trace::Access touch = t.accesses.at(kernels[0].accesses.first);
  EXPECT_EQ(touch.pattern, Pattern::Order);
  EXPECT_EQ(touch.mode, Mode::ReadWrite);
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(touch.options)).order,
            (std::vector<std::int64_t>{0, 65536, 131072, 262144, 524288, 1048576}));
  EXPECT_EQ(records_of<trace::Alloc>(t).at(0).bytes, 2 << 20);
  ASSERT_EQ(records_of<trace::HostStep>(t).size(), 1u);
}

// 2 MiB + 192 KiB are 35 basic blocks: 0 .. 34.
TEST(PageTouch, RefusesPlacesBeyondTheEnd) {
  const auto generator = make_generator("page_touch", R"({"size": "2240 KiB", "order": [34, 35]})");
  EXPECT_EQ(generator->contradictions().size(), 1u);
}

// The load of b is issued before that of a: the measured first batch holds 32 faults of b and 24 of a.
TEST(PageStride, LoadsBBeforeAAndStoresC) {
  const trace::Trace t = generate("page_stride", "{}", 1);
  const trace::Kernel add = records_of<trace::Kernel>(t).at(0);
  ASSERT_EQ(add.accesses.count, 3u);
  EXPECT_EQ(add.block, 32);
  EXPECT_EQ(t.accesses[add.accesses.first].tensor, 2);
  EXPECT_EQ(t.accesses[add.accesses.first + 1].tensor, 1);
  EXPECT_EQ(t.accesses[add.accesses.first + 2].mode, Mode::Write);
  EXPECT_EQ(records_of<trace::Alloc>(t).at(0).bytes, 2 << 20) << "32 pages, padded";
  EXPECT_EQ(t.accesses[add.accesses.first].length, 32 * 4096);
  const trace::PatternOptions& stride = t.options.at(0);
  EXPECT_EQ(stride.stride, 4096);
}

// 2 GiB are 524,288 pages: 256 CTAs of 8 threads take every 2,048th each, and write.
TEST(PageRead, MayLoopAndWrite) {
  const trace::Trace t = generate("page_read", R"({"size": "2 GiB", "grid": 256, "block": 8, "write": true})", 1);
  const trace::Kernel touch = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(touch.grid, 256);
  EXPECT_EQ(touch.block, 8);
  EXPECT_EQ(t.accesses[touch.accesses.first].mode, Mode::Write);
  EXPECT_EQ(t.options.at(0).stride, 4096);
  EXPECT_EQ(t.accesses[touch.accesses.first].length, -1);
}

// Memory goes back to the host before the second and the third iteration.
TEST(PageRead, PrefetchesBackBeforeEachIterationButTheFirst) {
  for (const std::string name : {"page_read", "pointer_chase"}) {
    const trace::Trace t = generate(name, R"({"prefetch_back": true})", 3);
    const auto back = records_of<trace::Prefetch>(t);
    ASSERT_EQ(back.size(), 2u) << name;
    EXPECT_EQ(back[0].destination, -1) << name;
    EXPECT_EQ(records_of<trace::Kernel>(t).size(), 3u) << name;
  }
}

// What is measured is the iteration: what brings the memory to where it is to be found lies before it.
TEST(HostTouch, MeasuresOneStep) {
  const auto before_and_in = [](const std::string& parameters) {
    const trace::Trace t = generate("host_touch", parameters, 1);
    std::pair<std::string, std::string> steps;
    std::string* at = &steps.first;
    for (const trace::Record& record : t.records) {
      if (std::holds_alternative<trace::Iteration>(record)) at = &steps.second;
      if (const auto* prefetch = std::get_if<trace::Prefetch>(&record)) *at += prefetch->destination < 0 ? 'h' : 'g';
      if (const auto* touch = std::get_if<trace::HostStep>(&record))
        *at += t.accesses[touch->accesses.first].mode == Mode::Read ? 'r' : 'w';
    }
    return steps;
  };
  using Steps = std::pair<std::string, std::string>;
  EXPECT_EQ(before_and_in("{}"), (Steps{"", "w"}));
  EXPECT_EQ(before_and_in(R"({"before": "gpu", "step": "host_read", "arrays": 2})"), (Steps{"wwgg", "rr"}));
  EXPECT_EQ(before_and_in(R"({"before": "returned", "step": "prefetch_to_gpu"})"), (Steps{"wgh", "g"}));
  EXPECT_EQ(before_and_in(R"({"before": "gpu", "cpu_init": false, "step": "prefetch_to_host"})"), (Steps{"g", "h"}));
  EXPECT_EQ(before_and_in(R"({"size": "3 MiB", "places": 3})"), (Steps{"", "www"})) << "a byte of each MiB";
}

// 4 runs of 2 pages are 512 KiB apart; a second block begins 2 MiB after the first.
TEST(ReturnedRuns, GoBackToTheHostBeforeTheKernel) {
  const trace::Trace t = generate("returned_runs", R"({"blocks": 2, "runs": 4, "pages": 2})", 1);
  const auto moved = records_of<trace::Prefetch>(t);
  ASSERT_EQ(moved.size(), 9u) << "all to the GPU, then 2 x 4 runs";
  EXPECT_EQ(moved[0].destination, 0);
  EXPECT_EQ(moved[2].offset, 512 << 10);
  EXPECT_EQ(moved[2].length, 8192);
  EXPECT_EQ(moved[2].destination, -1);
  EXPECT_EQ(moved[5].offset, 2 << 20);
}

TEST(ReturnedRuns, LeaveMoreThanHalfOfABlock) {
  const auto generator = make_generator("returned_runs", R"({"runs": 64, "pages": 5})");
  EXPECT_EQ(generator->contradictions().size(), 1u) << "64 x 5 pages of 512";
}

// One place in each of 3 blocks, then another 256 KiB further: two kernels, by a thread in turn or by three at once.
TEST(BlockTouches, AreAKernelForEachPlace) {
  const auto places = [](bool at_once) {
    const trace::Trace t =
        generate("block_touches",
                 at_once ? R"({"blocks": 3, "touches": 2, "at_once": true})" : R"({"blocks": 3, "touches": 2})", 1);
    const auto kernels = records_of<trace::Kernel>(t);
    EXPECT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[1].block, at_once ? 3 : 1);
    const trace::Access& access = t.accesses[kernels[1].accesses.first];
    EXPECT_EQ(access.offset, at_once ? 256 << 10 : 0);
    return t.options[static_cast<std::size_t>(access.options)];
  };
  EXPECT_EQ(places(false).order,
            (std::vector<std::int64_t>{256 << 10, (2 << 20) + (256 << 10), (4 << 20) + (256 << 10)}));
  EXPECT_EQ(places(true).stride, 2 << 20);
}

// The GPU has 1 MiB of a block but for the 64 KiB at 256 KiB, which the kernel touches.
TEST(BlockTouches, OfBlocksThatAreThereInPart) {
  const trace::Trace t = generate("block_touches", R"({"blocks": 1, "resident": "1 MiB"})", 1);
  const auto there = records_of<trace::Prefetch>(t);
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(there[0].length, 256 << 10);
  EXPECT_EQ(there[1].offset, 320 << 10);
  EXPECT_EQ(there[1].length, 704 << 10);
  const trace::Kernel touch = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(t.options[static_cast<std::size_t>(t.accesses[touch.accesses.first].options)].order.front(), 256 << 10);
}

TEST(BlockTouches, WithinABlockAreAKernelForEachBlock) {
  const auto kernels =
      records_of<trace::Kernel>(generate("block_touches", R"({"blocks": 3, "touches": 8, "within": true})", 1));
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].block, 8);
}

TEST(BlockTouches, StayInTheirBlock) {
  EXPECT_EQ(make_generator("block_touches", R"({"touches": 9})")->contradictions().size(), 1u)
      << "2 MiB from the begin";
  EXPECT_EQ(make_generator("block_touches", R"({"within": true, "at_once": true})")->contradictions().size(), 1u);
  EXPECT_EQ(make_generator("block_touches", R"({"resident": "1 MiB", "apart": "4 KiB"})")->contradictions().size(), 1u);
}

// 2^25 floats in CTAs of 256 threads: 131,072 CTAs. 3 * 128 MiB over 900 GB/s is 447.392 us.
TEST(VectorAdd, OneElementPerThreadAtDeviceBandwidth) {
  const trace::Kernel add = records_of<trace::Kernel>(generate("vector_add", "{}", 1)).at(0);
  EXPECT_EQ(add.grid, 131072);
  EXPECT_EQ(add.block, 256);
  EXPECT_EQ(add.duration_ns, 447392);
}

// One thread works sector by sector, 8 floats each: 2^25 / 8 rounds of 500 ns are 2.097152 s.
TEST(VectorAdd, OneThreadIsBoundByLatency) {
  const trace::Kernel add = records_of<trace::Kernel>(generate("vector_add", R"({"mode": "thread"})", 1)).at(0);
  EXPECT_EQ(add.grid, 1);
  EXPECT_EQ(add.block, 1);
  EXPECT_EQ(add.duration_ns, 2'097'152'000);
}

TEST(VectorAdd, InPlaceUpdatesItsFirstArray) {
  const trace::Trace t = generate("vector_add", R"({"in_place": true})", 1);
  EXPECT_EQ(records_of<trace::Alloc>(t).size(), 2u);
  const trace::Kernel add = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(t.accesses[add.accesses.first].mode, Mode::ReadWrite);
  EXPECT_EQ(t.accesses[add.accesses.first + 1].mode, Mode::Read);
}

// 1000 elements by 2 x 64 threads: 8 each, 32 B.
TEST(VectorAdd, ThreadsMayTakeContiguousChunks) {
  const trace::Trace t = generate("vector_add", R"({"mode": "chunk", "grid": 2, "block": 64, "elements": 1000})", 1);
  const trace::Access a = t.accesses[records_of<trace::Kernel>(t).at(0).accesses.first];
  EXPECT_EQ(a.pattern, Pattern::Sequential);
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(a.options)), (trace::PatternOptions{.chunk = 32}));
}

TEST(VectorAdd, LoopsMayBeUnrolled) {
  const trace::Trace t = generate("vector_add", R"({"mode": "grid_stride", "grid": 2, "unroll": 4})", 1);
  const trace::Access a = t.accesses[records_of<trace::Kernel>(t).at(0).accesses.first];
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(a.options)), (trace::PatternOptions{.unroll = 4}));
}

// One element per thread, or chunks, have no rounds.
TEST(VectorAdd, UnrollsNothingButLoops) {
  EXPECT_EQ(make_generator("vector_add", R"({"unroll": 4})")->contradictions().size(), 1u);
  EXPECT_EQ(make_generator("vector_add", R"({"mode": "chunk", "grid": 2, "unroll": 4})")->contradictions().size(), 1u);
  EXPECT_TRUE(make_generator("vector_add", R"({"mode": "block", "unroll": 4})")->contradictions().empty());
}

// Grids that only load, or only store.
TEST(MicroWorkloads, MayUnrollTheirLoops) {
  for (const std::string name : {"first_touch", "repeated_read"}) {
    const trace::Trace looped = generate(name, R"({"grid": 2, "unroll": 4})", 1);
    EXPECT_EQ(looped.options.back(), (trace::PatternOptions{.unroll = 4})) << name;
    EXPECT_TRUE(generate(name, R"({"grid": 2})", 1).options.empty()) << name;
  }
}

// Every 1024th of 2^20 floats, one per page: 1024 threads, 3 x 32 KiB in sectors.
TEST(VectorAdd, MayAddEveryKthElement) {
  const trace::Trace t = generate("vector_add", R"({"stride": 1024, "elements": 1048576})", 1);
  const trace::Kernel add = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(add.grid, 4);
  const trace::Access a = t.accesses[add.accesses.first];
  EXPECT_EQ(a.pattern, Pattern::Strided);
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(a.options)), (trace::PatternOptions{.width = 4, .stride = 4096}));
}

// 1000 doubles: 8,000 B in four CTAs of 256 threads, as many as for floats.
TEST(VectorAdd, MayAddDoubles) {
  const trace::Trace t = generate("vector_add", R"({"element_bytes": 8, "elements": 1000})", 1);
  EXPECT_EQ(records_of<trace::Alloc>(t).at(0).bytes, 8000);
  const trace::Kernel add = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(add.grid, 4);
  const trace::Access a = t.accesses[add.accesses.first];
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(a.options)), (trace::PatternOptions{.element_bytes = 8}));
}

// A piece of 512 KiB of doubles: 65,536 threads.
TEST(ChunkStream, MayUpdateDoubles) {
  const trace::Trace t = generate("chunk_stream", R"({"element_bytes": 8, "size": "1 MiB", "kernels": 2})", 1);
  const trace::Kernel update = records_of<trace::Kernel>(t).at(1);
  EXPECT_EQ(update.grid * update.block, 65536);
  const trace::Access a = t.accesses[update.accesses.first];
  EXPECT_EQ(a.offset, 524288);
  EXPECT_EQ(t.options.at(static_cast<std::size_t>(a.options)), (trace::PatternOptions{.element_bytes = 8}));
}

TEST(ChunkStream, MayReadOnly) {
  const trace::Trace t = generate("chunk_stream", R"({"access": "read", "kernels": 2})", 1);
  EXPECT_EQ(t.accesses[records_of<trace::Kernel>(t).at(0).accesses.first].mode, Mode::Read);
}

TEST(VectorAdd, KnowsFloatsAndDoublesOnly) {
  EXPECT_EQ(make_generator("vector_add", R"({"element_bytes": 6})")->contradictions().size(), 1u);
  EXPECT_EQ(make_generator("chunk_stream", R"({"element_bytes": 6})")->contradictions().size(), 1u);
}

TEST(VectorAdd, LoadsMayComeInTurn) {
  const trace::Trace t = generate("vector_add", R"({"loads": "in_turn"})", 1);
  const auto first = records_of<trace::Kernel>(t).at(0).accesses.first;
  EXPECT_EQ(t.accesses[first].options, -1);
  EXPECT_TRUE(t.options.at(static_cast<std::size_t>(t.accesses[first + 1].options)).dependent);
  EXPECT_EQ(t.accesses[first + 2].options, -1);
}

// 100 x 40 points by CTAs of 32 x 8: 4 x 5.
TEST(Stencil2d, CtasHaveAnyShape) {
  const trace::Trace t = generate("stencil2d", R"({"columns": 100, "rows": 40, "block_x": 32, "block_y": 8})", 1);
  EXPECT_EQ(records_of<trace::Kernel>(t).at(0).grid, 20);
  EXPECT_EQ(t.options.at(0).block_x, 32);
  EXPECT_FALSE(make_generator("stencil2d", R"({"block_x": 64, "block_y": 32})")->contradictions().empty());
}

// 100 x 40 points in tiles of 16 x 16: 7 x 3 CTAs. The grids swap roles after each sweep.
TEST(Stencil2d, SweepsSwapTheGrids) {
  const trace::Trace t = generate("stencil2d", R"({"columns": 100, "rows": 40})", 2);
  const auto sweeps = records_of<trace::Kernel>(t);
  ASSERT_EQ(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0].grid, 21);
  EXPECT_EQ(sweeps[0].block, 256);
  EXPECT_EQ(t.accesses[sweeps[0].accesses.first].tensor, 1);
  EXPECT_EQ(t.accesses[sweeps[0].accesses.first + 1].tensor, 2);
  EXPECT_EQ(t.accesses[sweeps[1].accesses.first].tensor, 2);
  EXPECT_EQ(t.accesses[sweeps[1].accesses.first + 1].tensor, 1);
  EXPECT_EQ(t.options.at(0).leading_dimension, 400);
}

// 1000 x 400 elements by CTAs of 32 x 8: 32 x 50. Three times 1.6 MB at 900 GB/s are 5,333 ns. The host writes A and B
// alone.
TEST(MatrixAdd, ReadsTwoMatricesAndWritesOne) {
  const trace::Trace t =
      generate("matrix_add", R"({"columns": 1000, "rows": 400, "block_y": 8, "init_result": false})", 1);
  const trace::Kernel add = records_of<trace::Kernel>(t).at(0);
  EXPECT_EQ(add.grid, 1600);
  EXPECT_EQ(add.block, 256);
  EXPECT_EQ(add.duration_ns, 5333);
  ASSERT_EQ(add.accesses.count, 3u);
  const auto access = [&](std::uint32_t i) { return t.accesses[add.accesses.first + i]; };
  EXPECT_EQ(access(0).mode, trace::Mode::Read);
  EXPECT_EQ(access(1).mode, trace::Mode::Read);
  EXPECT_EQ(access(2).mode, trace::Mode::Write);
  EXPECT_EQ(access(2).tensor, 3);
  EXPECT_EQ(t.accesses.size(), 5u);
  EXPECT_FALSE(make_generator("matrix_add", R"({"block_x": 64})")->contradictions().empty());
}

// 2 * 1000^3 floating-point operations at 15.7 TFLOP/s: 127.389 us. 8 x 8 tiles of 128 x 128.
TEST(Sgemm, IsBoundByArithmetic) {
  const trace::Kernel product = records_of<trace::Kernel>(generate("sgemm", R"({"n": 1000})", 1)).at(0);
  EXPECT_EQ(product.grid, 64);
  EXPECT_EQ(product.duration_ns, 127388);
}

// 1000 bytes are 250 floats; three pieces start at floats 0, 83 and 166.
TEST(ChunkStream, PiecesCoverTheAllocation) {
  const trace::Trace t = generate("chunk_stream", R"({"size": "1000 B", "kernels": 3})", 2);
  const auto updates = records_of<trace::Kernel>(t);
  ASSERT_EQ(updates.size(), 6u);
  std::vector<std::int64_t> offsets, lengths;
  for (std::size_t i = 0; i < 3; ++i) {
    offsets.push_back(t.accesses[updates[i].accesses.first].offset);
    lengths.push_back(t.accesses[updates[i].accesses.first].length);
  }
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 332, 664}));
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{332, 332, 336}));
}

// Both directions of two sizes on two streams: h2d on stream 0, d2h on stream 1, whatever the options of managed
// memory say: the buffers are those of cudaMalloc.
TEST(Memcpy, DirectionsUseTheirOwnStreams) {
  const trace::Trace t = generate("memcpy", R"({"direction": "both", "streams": 2, "sizes": [4096, 8192]})", 1);
  const auto copies = records_of<trace::Copy>(t);
  ASSERT_EQ(copies.size(), 4u);
  for (const trace::Copy& copy : copies) {
    const bool up = copy.direction == trace::CopyDirection::HostToDevice;
    EXPECT_EQ(copy.stream, up ? 0 : 1);
    EXPECT_TRUE(copy.pinned);
  }
  EXPECT_EQ(copies[3].bytes, 8192);
  EXPECT_EQ(records_of<trace::Alloc>(t).at(0).space, static_cast<std::int8_t>(trace::Space::Device));
}

// gpu1 reads from and writes to the host on two streams, the write three times; gpu0 sends to gpu1 on its own stream.
TEST(ConcurrentCopies, GiveEachCopyAStreamOfItsOwn) {
  const trace::Trace t =
      generate("concurrent_copies", R"({"from": [-1, 1, 0], "to": [1, -1, 1], "repeat": [1, 3, 1]})", 1);
  EXPECT_EQ(t.header.devices.size(), 2u);
  const auto copies = records_of<trace::Copy>(t);
  ASSERT_EQ(copies.size(), 5u);
  using enum trace::CopyDirection;
  const auto is = [&](std::size_t i, trace::CopyDirection direction, int device, int stream) {
    EXPECT_EQ(copies[i].direction, direction) << i;
    EXPECT_EQ(copies[i].device, device) << i;
    EXPECT_EQ(copies[i].stream, stream) << i;
  };
  is(0, HostToDevice, 1, 0);
  is(1, DeviceToHost, 1, 1);
  is(2, PeerToPeer, 0, 0);
  EXPECT_EQ(copies[2].peer, 1);
  is(3, DeviceToHost, 1, 1);
  is(4, DeviceToHost, 1, 1);
}

TEST(ConcurrentCopies, RefuseListsThatDoNotFit) {
  EXPECT_EQ(make_generator("concurrent_copies", R"({"from": [-1, 0], "to": [0]})")->contradictions().size(), 1u);
  EXPECT_EQ(make_generator("concurrent_copies", R"({"from": [0], "to": [0]})")->contradictions().size(), 1u);
  EXPECT_EQ(make_generator("concurrent_copies", R"({"repeat": [1, 2]})")->contradictions().size(), 1u);
}

// Ahead by one: before the kernel of piece 0, pieces 0 and 1 are on their way, and the kernel waits for piece 0.
TEST(PrefetchStream, PrefetchesAhead) {
  const trace::Trace t =
      generate("prefetch_stream", R"({"size": "4 KiB", "pieces": 2, "ahead": 1, "cpu_init": false})", 1);
  std::string order;
  for (const trace::Record& r : t.records) {
    if (std::holds_alternative<trace::Prefetch>(r)) order += 'P';
    if (std::holds_alternative<trace::EventRecord>(r)) order += 'E';
    if (std::holds_alternative<trace::EventWait>(r)) order += 'W';
    if (std::holds_alternative<trace::Kernel>(r)) order += 'K';
  }
  EXPECT_EQ(order, "PEPEWKWK");
}

TEST(FirstTouch, EveryIterationWritesFreshMemory) {
  const trace::Trace t = generate("first_touch", "{}", 3);
  EXPECT_EQ(records_of<trace::Alloc>(t).size(), 3u);
  EXPECT_EQ(records_of<trace::Free>(t).size(), 3u);
  EXPECT_TRUE(records_of<trace::HostStep>(t).empty());
}

// The host reads the result only after the GPU is done.
TEST(Micro, ReadBackWaitsForTheDevice) {
  const trace::Trace t = generate("stream_triad", R"({"read_back": true})", 1);
  const auto step = std::get_if<trace::HostStep>(&t.records.back());
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(t.accesses[step->accesses.first].mode, Mode::Read);
  EXPECT_TRUE(std::holds_alternative<trace::Synchronize>(t.records[t.records.size() - 3]));
}

}  // namespace
}  // namespace uvmsim
