#include "report/view.h"

#include <gmock/gmock.h>

#include "base/number_text.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Rows = std::vector<std::vector<ViewTable::Cell>>;

ViewTable view(const std::string& name, const trace::Trace& trace) { return run_view(name, ViewInput(trace)); }

double number(const ViewTable& table, std::size_t row, std::size_t column) {
  return std::get<double>(table.rows[row][column]);
}

trace::Trace sizes() {
  TraceBuilder t{trace::Header{}};
  t.allocate(Bytes{513}, TensorKind::Activation);
  t.allocate(Bytes{1024}, TensorKind::Activation);
  t.allocate(Bytes{512}, TensorKind::Activation);
  t.allocate(Bytes{1}, TensorKind::Param);
  return t.take();
}

// 513 and 1024 B are in the class up to 1024 B, together 1537 B; 512 B in the one below; 1 B is its own class.
TEST(BlockSizes, CountsByKindAndPowerOfTwo) {
  const ViewTable table = view("block_sizes", sizes());
  ASSERT_EQ(table.columns, (std::vector<std::string>{"kind", "up_to_bytes", "tensors", "bytes"}));
  EXPECT_EQ(table.rows, (Rows{{"param", 1, 1, 1}, {"act", 512, 1, 512}, {"act", 1024, 2, 1537}}));
}

TEST(View, IsTextInUnitsAndJsonInNumbers) {
  const ViewTable table{.title = "what",
                        .finding = "that",
                        .columns = {"name", "held_bytes", "idle_s", "share", "saved_bytes_per_s", "count"},
                        .rows = {{"a", 7000, 0.25, 0.5, 2e9, 1234}, {"long", 8, 1e-6, 1.0, 1e3, 0}},
                        .pictures = {"##", "# "}};
  EXPECT_EQ(to_text(table),
            "what\n"
            "  that\n"
            "  name  held    idle    share   saved  count\n"
            "  a     7 KB  250 ms   50.0 %  2 GB/s  1,234  ##\n"
            "  long   8 B    1 us  100.0 %  1 KB/s      0  #\n");
  EXPECT_THAT(to_text(table, 1), HasSubstr("##\n  ... 1 more\n"));
  EXPECT_THAT(to_json(table), HasSubstr(R"("finding": "that")"));
  EXPECT_THAT(to_json(table), HasSubstr("\"name\": \"long\",\n      \"held_bytes\": 8"));
}

TEST(View, SuggestsTheNearestName) {
  EXPECT_THAT([] { view("block_size", {}); },
              ThrowsMessage<UserError>(HasSubstr("no view is named \"block_size\"; did you mean \"block_sizes\"?")));
}

// The last of these iterations is broken off: 1 kernel of 3. The one before it stands for the trace.
TEST(ViewInput, LooksAtTheLastWholeIteration) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId a = t.allocate(Bytes{512}, TensorKind::Param);
  for (const int kernels : {5, 3, 1}) {
    t.iteration(0);
    for (int k = 0; k < kernels; ++k) t.kernel("k", {.duration_ns = 1000}, {reads(a)});
  }
  const trace::Trace trace = t.take();
  const ViewInput input(trace);
  ASSERT_EQ(input.iterations.size(), 1u);
  EXPECT_EQ(input.iterations[0].graph().shape.kernels, 3);
}

// Equation 1 of the paper, with its numbers: 25 us / (1 / 6.4 GB/s + 1 / 6.3 GB/s) = 79.37 KB.
TEST(SwappableBytes, AreThoseOfThePaper) {
  const double bytes = swappable_bytes(microseconds(25), ViewSetting{}.links);
  EXPECT_NEAR(bytes, 79'370.08, 0.01);
  EXPECT_EQ(bytes_text(bytes), "79.37 KB");
}

// Kernels of 10, 20, 30 and 40 us one after the other, the first and the third use `a`, which was there before.
trace::Trace four_kernels(std::int64_t bytes = 512) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId a = t.allocate(Bytes{bytes}, TensorKind::Param);
  const trace::TensorId b = t.allocate(Bytes{512}, TensorKind::Other);
  t.iteration(0);
  t.kernel("k0", {.duration_ns = 10'000}, {writes(a)});
  t.kernel("k1", {.duration_ns = 20'000}, {});
  t.kernel("k2", {.duration_ns = 30'000}, {reads(a)});
  t.kernel("k3", {.duration_ns = 40'000}, {writes(b)});
  return t.take();
}

// a: 10 to 30 us, and from 60 over the end at 100 to 0 us, 40 us. b: from 100 over the end to 60 us, 60 us. Ascending
// 20, 40, 60: ranks ceil(3 x share) of 10, 25, 50, 75, 90, 99 % are 1, 1, 2, 3, 3, 3.
TEST(AccessIntervals, HavePercentilesOfTheNearestRank) {
  const ViewTable table = view("access_intervals", four_kernels());
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "all");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][1]), 3);
  const std::vector<double> us = {20, 20, 20, 40, 60, 60, 60, 60};
  for (std::size_t i = 0; i < us.size(); ++i) EXPECT_NEAR(number(table, 0, 2 + i), us[i] * 1e-6, 1e-12) << i;
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "param");
}

// 20 us: log10(20000 ns) x 4 = 17.2, bin 17, from 17.78 us. 40 us: 18.4, bin 18, from 31.62 us.
TEST(AccessIntervalDensity, CountsByQuartersOfADecade) {
  const ViewTable table = view("access_interval_density", four_kernels());
  ASSERT_EQ(table.rows.size(), 3u);  // b's interval is of another kind
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "param");
  EXPECT_NEAR(number(table, 1, 1), 17.78e-6, 1e-8);
  EXPECT_NEAR(number(table, 2, 1), 31.62e-6, 1e-8);
  EXPECT_DOUBLE_EQ(number(table, 1, 4), 0.5);
}

// 2 MiB can go out and back in 2097152 B x (1 / 6.4 + 1 / 6.3) / GB = 660.6 us: not in 20 or 40 us. 126 KB can go in
// 39.69 us: in the second interval.
TEST(Outliers, AreLargeAndIdleForLongEnough) {
  EXPECT_TRUE(view("outliers", four_kernels(2 << 20)).rows.empty());
  const ViewTable table = view("outliers", four_kernels(126'000));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_NEAR(number(table, 0, 4), 40e-6, 1e-12);
  EXPECT_EQ(std::get<std::string>(table.rows[0][6]), "k2");
  EXPECT_EQ(std::get<std::string>(table.rows[0][7]), "k0");
}

// Three times: 1 KiB allocated, written and freed, in 5 us; before that, one allocation.
TEST(Periods, AreFoundWithoutMarksAfterAWarmUp) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId held = t.allocate(Bytes{512}, TensorKind::Param);
  for (int i = 0; i < 3; ++i) {
    const trace::TensorId a = t.allocate(Bytes{1024}, TensorKind::Activation);
    t.kernel("k" + std::to_string(i), {.duration_ns = 5000}, {reads(held), writes(a)});
    t.free(a);
  }
  const ViewTable table = view("periods", t.take());
  // Events: 1 + 3 x (allocate, read, write, free), of which the last 12 are three periods.
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0], (std::vector<ViewTable::Cell>{0, 13, 1, 4, 3, 12.0 / 13, 5000 * 1e-9}));
}

// Two kernels of 1 and 2 us, four times, and not a tensor.
TEST(Periods, GoByKernelsWhereThereAreNoTensors) {
  TraceBuilder t{trace::Header{}};
  for (int i = 0; i < 4; ++i) {
    t.kernel("a", {.duration_ns = 1000}, {});
    t.kernel("b", {.duration_ns = 2000}, {});
  }
  const ViewTable table = view("periods", t.take());
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][3]), 2);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][4]), 4);
  EXPECT_DOUBLE_EQ(number(table, 0, 6), 3e-6);
}

TEST(Periods, AreNotFoundInWhatDoesNotRepeat) {
  TraceBuilder t{trace::Header{}};
  for (int i = 1; i < 9; ++i)
    t.kernel("k", {.duration_ns = 5000}, {writes(t.allocate(Bytes{512 * i}, TensorKind::Activation))});
  const ViewTable table = view("periods", t.take());
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.finding, "device 0: no period of most of its 16 events");
}

// The first iteration makes the optimizer's state; of two, none is left that repeats another.
TEST(Periods, NeedMoreThanTwoIterations) {
  TraceBuilder t{trace::Header{}};
  for (int i = 0; i < 2; ++i) {
    t.iteration(i);
    if (i == 0) t.allocate(Bytes{4096}, TensorKind::Optimizer);
    for (int k = 1; k < 3; ++k) {
      const trace::TensorId made = t.allocate(Bytes{512 * (k + i)}, TensorKind::Activation);
      t.kernel("k", {.duration_ns = 5000}, {writes(made)});
    }
  }
  EXPECT_THAT(view("periods", t.take()).finding, testing::HasSubstr("the trace marks 2 iterations"));
}

// Of three blocks of 512 KiB in one segment of 2 MiB the middle one is freed: 512 KiB in the middle and 512 KiB at the
// end are free, so that half of the free memory is not in the largest hole.
trace::Trace holed() {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId a = t.allocate(Bytes{512 << 10}, TensorKind::Activation);
  const trace::TensorId b = t.allocate(Bytes{512 << 10}, TensorKind::Activation);
  const trace::TensorId c = t.allocate(Bytes{512 << 10}, TensorKind::Activation);
  t.iteration(0);
  t.kernel("k0", {.duration_ns = 10'000}, {writes(a), writes(b), writes(c)});
  t.free(b);
  t.kernel("k1", {.duration_ns = 30'000}, {reads(a), reads(c)});
  return t.take();
}

TEST(Fragmentation, IsWhatIsNotInTheLargestHole) {
  const ViewTable table = view("fragmentation", holed());
  ASSERT_EQ(table.rows.size(), 2u);
  const std::int64_t half = 512 << 10;
  EXPECT_EQ(table.rows[0], (std::vector<ViewTable::Cell>{0.0, 0, 3 * half, 4 * half, half, half, 0.0}));
  EXPECT_DOUBLE_EQ(number(table, 1, 0), 10e-6);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[1][4]), 2 * half);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[1][5]), half);
  EXPECT_EQ(number(table, 1, 6), 0.5);
}

// b has its memory until the first kernel is done: 10 of 40 us.
TEST(Lifetimes, HaveAddressesAndTimes) {
  const ViewTable table = view("lifetimes", holed());
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][4]), "0x7f0000000000");
  EXPECT_EQ(std::get<std::string>(table.rows[1][4]), "0x7f0000080000");
  EXPECT_DOUBLE_EQ(number(table, 1, 7), 10e-6);
  EXPECT_DOUBLE_EQ(number(table, 2, 7), 40e-6);
  EXPECT_EQ(table.pictures[1], std::string(12, '#') + std::string(36, '.'));
}

// a (1 KiB), b (2 KiB), a, in every iteration. The first use of a follows its last one: 1 KiB. Between two uses of b,
// and between the first and the second of a, both are used: 3 KiB, which 4 KiB hold.
TEST(ReuseDistances, CountWhatIsUsedInBetween) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId a = t.allocate(Bytes{1024}, TensorKind::Param);
  const trace::TensorId b = t.allocate(Bytes{2048}, TensorKind::Param);
  t.iteration(0);
  for (const trace::TensorId tensor : {a, b, a}) t.kernel("k", {.duration_ns = 1000}, {reads(tensor)});
  const ViewTable table = view("reuse_distances", t.take());
  EXPECT_EQ(table.rows, (Rows{{1024, 1, 1.0 / 3, 1.0 / 3}, {4096, 2, 2.0 / 3, 1.0}}));
}

// x takes 1 ms to make and is not needed from the end of k1 to k3: 1 MiB for 1 ms. y is needed at once.
TEST(MemorySavingPerSecond, IsBytesOverTheTimeToMakeThemAgain) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId input = t.allocate(Bytes{512}, TensorKind::Input);
  t.iteration(0);
  t.phase("forward");
  const trace::TensorId x = t.allocate(Bytes{1 << 20}, TensorKind::Activation);
  t.kernel("conv", {.duration_ns = 1'000'000}, {reads(input), writes(x)});
  const trace::TensorId y = t.allocate(Bytes{1 << 20}, TensorKind::Activation);
  t.kernel("relu", {.duration_ns = 1'000'000}, {reads(x), writes(y)});
  t.phase("backward");
  t.kernel("relu_bwd", {.duration_ns = 1'000'000}, {updates(y)});
  t.kernel("conv_wgrad", {.duration_ns = 1'000'000}, {reads(x)});
  const ViewTable table = view("memory_saving_per_second", t.take());
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][3]), 1 << 20);
  EXPECT_DOUBLE_EQ(number(table, 0, 6), (1 << 20) / 1e-3);
}

// Of 60 us the layer "a" computes 20 and makes 1 KiB, which is all that is there at the peak besides 512 B.
TEST(Layers, HaveSharesOfTimeAndOfThePeak) {
  TraceBuilder t{trace::Header{}};
  const trace::TensorId weight = t.allocate(Bytes{512}, TensorKind::Param);
  t.iteration(0);
  t.layer(t.string("a"));
  const trace::TensorId x = t.allocate(Bytes{1024}, TensorKind::Activation);
  t.kernel("k", {.duration_ns = 20'000}, {reads(weight), writes(x)});
  t.free(x);
  t.layer(t.string("b"));
  t.kernel("k", {.duration_ns = 40'000}, {reads(weight)});
  const ViewTable table = view("layers", t.take());
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "a");
  EXPECT_DOUBLE_EQ(number(table, 0, 2), 20e-6);
  EXPECT_DOUBLE_EQ(number(table, 0, 3), 1.0 / 3);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][5]), 1024);
  EXPECT_DOUBLE_EQ(number(table, 0, 6), 2.0 / 3);
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "(held before)");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[2][5]), 0);
}

// Calls of 5 us. k0 of 20 us on stream 0; k1 of 10 us on stream 1 waits for it by an event; the host waits for k1, then
// launches k2 of 1 us after a gap of 3 us. By hand: launch 0-5, k0 5-25, k1 25-35, gap 35-38, launch 38-43, k2 43-44.
TEST(Dependencies, FollowTheCriticalPath) {
  TraceBuilder t{trace::Header{}};
  t.header().host_op_ns = 5000;
  t.iteration(0);
  t.kernel("k0", {.stream = 0, .duration_ns = 20'000}, {});
  t.append(trace::EventRecord{.event = 1, .stream = 0});
  t.append(trace::EventWait{.event = 1, .stream = 1});
  t.kernel("k1", {.stream = 1, .duration_ns = 10'000}, {});
  t.synchronize();
  t.kernel("k2", {.stream = 0, .duration_ns = 1000, .gap_ns = 3000}, {});
  const ViewTable table = view("dependencies", t.take());
  const std::vector<std::string> names = {"(first)",      "launch to kernel", "stream order",
                                          "thread order", "synchronization",  "CPU gap"};
  // Of launch to kernel: k0 and k2, 21 us. Of synchronization: k1 by the event and the gap, 13 us. Calls after a gap: 5
  // us.
  const std::vector<std::int64_t> edges = {0, 3, 1, 2, 3, 1}, binding = {1, 2, 0, 0, 2, 1};
  const std::vector<double> us = {5, 21, 0, 0, 13, 5};
  ASSERT_EQ(table.rows.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(std::get<std::string>(table.rows[i][0]), names[i]);
    EXPECT_EQ(std::get<std::int64_t>(table.rows[i][1]), edges[i]) << names[i];
    EXPECT_EQ(std::get<std::int64_t>(table.rows[i][2]), binding[i]) << names[i];
    EXPECT_NEAR(number(table, i, 3), us[i] * 1e-6, 1e-12) << names[i];
  }
  EXPECT_EQ(table.finding, "the critical path takes 44 us, 29.5 % of it on the host");
}

// 1.5 GB at the peak, on GPUs of 1 and 2 GB.
TEST(GpuCapacity, SaysHowManyTimesOverTheMemoryItIs) {
  TraceBuilder t{trace::Header{}};
  t.kernel("k", {.duration_ns = 1}, {writes(t.allocate(Bytes{1'536'000'000}, TensorKind::Param))});
  const trace::Trace trace = t.take();
  const ViewInput input(trace, {.gpus = {{"large", Bytes{2'048'000'000}}, {"small", Bytes{1'024'000'000}}}});
  const ViewTable table = run_view("gpu_capacity", input);
  EXPECT_EQ(table.rows, (Rows{{"small", 1'024'000'000, 1'536'000'000, 1.5, "no"},
                              {"large", 2'048'000'000, 1'536'000'000, 0.75, "yes"}}));
}

// 6.4 MB at 6.4 GB/s take 1 ms, 10 iterations of 100 us; 1 % of 1000 iterations.
TEST(Checkpoints, TakeTheBytesOverTheRate) {
  const ViewTable table = view("checkpoints", four_kernels(6'400'000));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(number(table, 0, 3), 1e-3);
  EXPECT_DOUBLE_EQ(number(table, 0, 4), 10);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][5]), 1000);
}

}  // namespace
}  // namespace uvmsim
