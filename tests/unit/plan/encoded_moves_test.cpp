// Three feature maps of 512 KiB, each written by a ReLU of the forward pass (kernels 0, 1 and 2) and read again in the
// backward pass (kernels 5, 4 and 3), and a parameter of 512 KiB that kernels 0 and 5 read.
#include "plan/encoded_moves.h"

#include <cmath>
#include <gmock/gmock.h>

#include "plan/sparsity.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kMap = 512 << 10;
constexpr std::int32_t kParam = 0;  // the maps are tensors 1, 2 and 3

trace::Trace relus(std::int8_t zeros_of_second = -1) {
  TraceBuilder t({});
  const auto param = t.allocate(Bytes{kMap}, TensorKind::Param);
  t.iteration(0);
  t.phase("forward");
  std::vector<trace::TensorId> maps;
  for (int n = 0; n < 3; ++n) {
    maps.push_back(t.allocate(Bytes{kMap}, TensorKind::Activation));
    t.kernel("relu", {.duration_ns = 1000}, {reads(n == 0 ? param : maps[maps.size() - 2]), writes(maps.back())});
  }
  t.phase("backward");
  t.kernel("relu_backward", {.duration_ns = 1000}, {reads(maps[2])});
  t.kernel("relu_backward", {.duration_ns = 1000}, {reads(maps[1])});
  t.kernel("relu_backward", {.duration_ns = 1000}, {reads(maps[0]), reads(param)});
  for (const trace::TensorId map : maps) t.free(map);
  trace::Trace trace = t.take();
  std::vector<trace::Alloc*> allocations;
  for (trace::Record& r : trace.records)
    if (auto* a = std::get_if<trace::Alloc>(&r)) allocations.push_back(a);
  allocations[2]->zeros = zeros_of_second;
  return trace;
}

IterationGraph graph_of(const trace::Trace& trace) {
  return IterationGraph(trace, DeviceOrdinal{0}, iterations_of(trace, DeviceOrdinal{0}).back());
}

Plan moving(std::vector<TensorInterval> intervals) {
  Plan plan;
  for (const TensorInterval& of : intervals)
    plan.actions.push_back(Move{.of = of, .out = {{Trigger::On::AfterKernel, of.last_use}}});
  return plan;
}
const Move& move_in(const Plan& plan, std::size_t n) { return std::get<Move>(plan.actions[n]); }

constexpr TensorInterval kFirst{1, 1, 5, kMap}, kSecond{2, 2, 4, kMap};

// The mean of the three is 62 %, and the first is half of zeros: the last has 74 %. The parameter has none.
TEST(SparsityTable, GrowsWithTheDepthOfTheRelu) {
  const IterationGraph graph = graph_of(relus());
  const SparsityTable zeros(graph);
  EXPECT_DOUBLE_EQ(zeros.after(1, 1), 0.5);
  EXPECT_DOUBLE_EQ(zeros.after(2, 2), 0.62);
  EXPECT_DOUBLE_EQ(zeros.after(2, 3), 0.74);
  EXPECT_DOUBLE_EQ(zeros.after(2, kParam), 0);
}

// Before kernel 1 writes map 2 nothing has.
TEST(SparsityTable, LooksAtTheLastWriter) {
  const IterationGraph graph = graph_of(relus());
  const SparsityTable zeros(graph);
  EXPECT_EQ(zeros.relu_before(1, 2), 1);
  EXPECT_EQ(zeros.relu_before(0, 2), -1);
}

// Of two ReLUs the one makes map 0 (50 % of zeros), the other map 1 (74 %), twice as large. Their concatenation has
// (50 + 2 x 74) / 3 = 66 %, the pooling behind it 0.66^1.4 = 55.9 %; its index is none of the activations. A
// convolution leaves no zero, and what the backward pass makes has none.
TEST(SparsityTable, ZerosOfReluStayWhereElementsAreCopied) {
  TraceBuilder t({});
  t.iteration(0);
  t.phase("forward");
  const auto map = [&](std::int64_t units) { return t.allocate(Bytes{units * 512}, TensorKind::Activation); };
  const auto a = map(1), b = map(2), both = map(3), pooled = map(1), index = map(2), convolved = map(1), back = map(3);
  t.kernel("relu", {.duration_ns = 1}, {writes(a)});
  t.kernel("relu", {.duration_ns = 1}, {reads(a), writes(b)});
  t.kernel("cat", {.duration_ns = 1}, {reads(a), reads(b), writes(both)});
  t.kernel("maxpool", {.duration_ns = 1}, {reads(both), writes(pooled), writes(index)});
  t.kernel("conv_fwd", {.duration_ns = 1}, {reads(pooled), writes(convolved)});
  t.phase("backward");
  t.kernel("cat", {.duration_ns = 1}, {reads(a), reads(b), writes(back)});
  const trace::Trace trace = t.take();
  const IterationGraph graph = graph_of(trace);
  const SparsityTable zeros(graph);
  EXPECT_DOUBLE_EQ(zeros.after(5, 2), 0.66);
  EXPECT_DOUBLE_EQ(zeros.after(5, 3), std::pow(0.66, 1.4));
  for (const std::int32_t dense : {4, 5, 6}) EXPECT_DOUBLE_EQ(zeros.after(5, dense), 0) << dense;
  EXPECT_DOUBLE_EQ(zeros.after(2, 3), 0);  // not written yet
}

TEST(SparsityTable, TheTraceKnowsBetterAndTheUserBest) {
  const IterationGraph graph = graph_of(relus(91));
  EXPECT_DOUBLE_EQ(SparsityTable(graph).after(2, 2), 0.91);
  EXPECT_DOUBLE_EQ(SparsityTable(graph).after(1, 1), 0.5);
  EXPECT_DOUBLE_EQ(SparsityTable(graph, 0.3).after(2, 2), 0.3);
}

TEST(EncodedMoves, HaveTheCodecAndTheirOwnSparsity) {
  const IterationGraph graph = graph_of(relus());
  Plan plan = moving({kFirst, kSecond});
  encode_moves(graph, {.name = "zvc"}, plan);
  EXPECT_EQ(move_in(plan, 0).codec, "zvc");
  EXPECT_DOUBLE_EQ(move_in(plan, 0).sparsity, 0.5);
  EXPECT_DOUBLE_EQ(move_in(plan, 1).sparsity, 0.62);
}

// ZVC of a dense tensor would be 1/32 larger; what a plan encodes already stays as it says.
TEST(EncodedMoves, LeaveWhatWouldNotGetSmallerAndWhatIsEncoded) {
  const IterationGraph graph = graph_of(relus());
  Plan plan = moving({{kParam, 0, 5, kMap}, kFirst});
  std::get<Move>(plan.actions[1]).codec = "csr_fp16";
  encode_moves(graph, {.name = "zvc"}, plan);
  EXPECT_EQ(move_in(plan, 0).codec, "");
  EXPECT_EQ(move_in(plan, 1).codec, "csr_fp16");
}

TEST(EncodedMoves, LeaveWhatTheCodecDoesNotTake) {
  const IterationGraph graph = graph_of(relus());
  Plan plan = moving({{kParam, 0, 5, kMap}, kFirst});
  encode_moves(graph, {.name = "deepsz", .ratio = 116}, plan);
  EXPECT_EQ(move_in(plan, 0).codec, "deepsz");
  EXPECT_EQ(move_in(plan, 0).ratio, 116);
  EXPECT_EQ(move_in(plan, 1).codec, "");
}

TEST(EncodedMoves, AreNoneWithoutACodec) {
  const IterationGraph graph = graph_of(relus());
  Plan plan = moving({kFirst});
  encode_moves(graph, {}, plan);
  EXPECT_EQ(plan, moving({kFirst}));
}

}  // namespace
}  // namespace uvmsim
